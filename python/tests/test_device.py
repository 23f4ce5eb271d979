"""Devices: what everybody sees. What a card computes is tested by `make test-gpu`."""

import json

import numpy as np
import pytest
from kernelet import SparseKernelRidge, SparseLogistic, SparseSVC, _core

X = np.random.default_rng(0).standard_normal((60, 3))
Y = (X[:, 0] > 0).astype(int)
CARDS = json.loads(_core.devices())["devices"]


class Lying:
    """Looks like an array on a card."""

    __cuda_array_interface__ = {"shape": (1, 3), "typestr": "<f4", "data": (0, False), "version": 3}


@pytest.mark.parametrize("make", [SparseSVC, SparseLogistic, SparseKernelRidge])
def test_the_processor_is_a_device_and_unknown_ones_are_errors(make):
    plain = make(n_vectors=5, random_state=0).fit(X, Y)
    named = make(n_vectors=5, random_state=0, device="cpu").fit(X, Y)
    assert np.array_equal(plain.predict(X), named.predict(X))
    with pytest.raises(ValueError, match="device is tpu, but must be cpu, gpu or gpu:N"):
        make(n_vectors=5, device="tpu").fit(X, Y)
    with pytest.raises(ValueError, match="device is tpu"):
        plain.set_params(device="tpu").predict(X)


def test_a_full_machine_is_not_trained_on_a_card():
    with pytest.raises(ValueError, match="device is not used by svc"):
        SparseSVC(n_vectors=None, device="cuda").fit(X, Y)


def test_arrays_on_a_card_need_a_machine_there():
    model = SparseSVC(n_vectors=5, random_state=0).fit(X, Y)
    for method in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="X lies on a GPU, but device is 'cpu'"):
            method(Lying())


@pytest.mark.skipif(bool(CARDS), reason="this machine has a card")
def test_without_a_card_a_sentence_says_so():
    assert json.loads(_core.devices())["note"]
    model = SparseSVC(n_vectors=5, gamma=1.0, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="NVIDIA"):
        model.set_params(device="cuda").predict(X)
    with pytest.raises(ValueError, match="NVIDIA"):
        SparseSVC(n_vectors=5, gamma=1.0, device="cuda").fit(X, Y)

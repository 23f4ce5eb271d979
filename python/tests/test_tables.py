"""Data frames with text, categories and missing values."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import kernelet
from kernelet import GreedyBasis, SparseKernelRidge, SparseSVC

pandas = pytest.importorskip("pandas")

JOBS = ["Clerk", "Craft", "Sales"]


def census(n=120, seed=1):
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 70, n)),
            "job": pandas.Series(rng.choice(JOBS, n), dtype=object).where(rng.random(n) > 0.1, None),
            "sex": pandas.Categorical(rng.choice(["Female", "Male"], n)),
            "member": rng.random(n) < 0.5,
            "hours": pandas.array(rng.integers(20, 60, n), dtype="Int64"),
        }
    )
    y = np.where((frame["age"].fillna(30) + frame["hours"].astype(float) > 85) | (frame["job"] == "Sales"), "high", "low")
    return frame, y


def by_hand(frame, like):
    """The features of a frame, written out."""
    columns = {"age": frame["age"].fillna(like["age"].median()), "age=missing": frame["age"].isna()}
    columns |= {f"job={job}": frame["job"] == job for job in JOBS} | {"job=missing": frame["job"].isna()}
    columns |= {f"sex={sex}": frame["sex"] == sex for sex in ("Female", "Male")}
    columns |= {"member": frame["member"], "hours": frame["hours"].astype(float)}
    return pandas.DataFrame(columns).astype(float)


def test_a_frame_is_fitted_and_predicted_as_if_it_had_been_encoded_by_hand():
    (train, y), (fresh, _) = census(), census(50, 2)
    options = {"options": {"scale": "standard"}}
    model = SparseSVC(20, C=10, gamma=0.1, random_state=0, **options).fit(train, y)
    hand = SparseSVC(20, C=10, gamma=0.1, random_state=0, **options).fit(by_hand(train, train).to_numpy(), y)
    outputs = model.decision_function(fresh)
    np.testing.assert_array_equal(outputs, hand.decision_function(by_hand(fresh, train).to_numpy()))
    assert model.n_features_in_ == 5 and list(model.feature_names_in_) == list(train.columns)
    moved = fresh[["hours", "sex", "age", "member", "job"]].assign(extra="x")
    np.testing.assert_array_equal(model.decision_function(moved), outputs)


def test_saved_models_carry_the_table(tmp_path):
    (train, y), (fresh, _) = census(), census(50, 2)
    model = SparseSVC(20, gamma=0.1, random_state=0).fit(train, y)
    path = tmp_path / "census.model"
    model.save(path)
    loaded = SparseSVC.load(path)
    np.testing.assert_array_equal(loaded.decision_function(fresh), model.decision_function(fresh))
    assert loaded.n_features_in_ == 5 and list(loaded.feature_names_in_) == list(train.columns)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(fresh), model.decision_function(fresh))
    assert json.loads(model._fitted().description())["facts"]["table"]["columns"][1]["categories"] == [*JOBS, "missing"]


def test_what_training_rows_do_not_have_is_a_warning_and_no_error():
    train, y = census()
    model = SparseSVC(20, gamma=0.1, random_state=0).fit(train, y)
    new = train.iloc[:2].copy()
    new["job"] = ["Pilot", "Sales"]
    new["hours"] = pandas.array([pandas.NA, 40], dtype="Int64")
    with pytest.warns(UserWarning) as warned:
        model.predict(new)
    texts = [str(warning.message) for warning in warned]
    assert texts[0] == '1 value of "job" not seen in training, first "Pilot": all indicators of the column are 0'
    assert texts[1].startswith('1 missing value of "hours", which has none in training, imputed by the median')


def test_bad_frames_are_rejected_with_the_column():
    train, y = census()
    model = SparseSVC(20, gamma=0.1, random_state=0).fit(train, y)
    with pytest.raises(ValueError, match="X has no column 'job', which the model needs"):
        model.predict(train.drop(columns="job"))
    with pytest.raises(ValueError, match='column "age": "old" is not a number, in row 1'):
        model.predict(train.assign(age="old"))
    with pytest.raises(ValueError, match="give a pandas DataFrame"):
        model.predict(by_hand(train, train).to_numpy())
    with pytest.raises(ValueError, match='the column "id" has 120 different texts in 120 rows, too many to be categories; leave it out'):
        SparseSVC(20).fit(train.assign(id=[f"p{i}" for i in range(len(train))]), y)
    with pytest.raises(ValueError, match="column 'day' has the type datetime64"):
        SparseSVC(20).fit(train.assign(day=pandas.Timestamp("2020-01-01")), y)
    with pytest.raises(ValueError, match='column "hours": inf is not a finite number, in row 1'):
        SparseSVC(20).fit(train.assign(hours=np.inf), y)
    with pytest.raises(ValueError, match="same name"):
        SparseSVC(20).fit(pandas.concat([train, train[["job"]]], axis=1), y)


def test_numbers_behave_as_before():
    train, y = census()
    plain = by_hand(train, train)
    model = SparseSVC(20, gamma=0.1, random_state=0).fit(plain, y)
    np.testing.assert_array_equal(model.decision_function(plain), SparseSVC(20, gamma=0.1, random_state=0).fit(plain.to_numpy(), y).decision_function(plain.to_numpy()))
    assert "table" not in json.loads(model._fitted().description())["facts"]
    as_objects = SparseSVC(20, gamma=0.1, random_state=0).fit(plain.astype(object), y)
    np.testing.assert_array_equal(as_objects.decision_function(plain), model.decision_function(plain))
    assert not hasattr(as_objects, "_table")
    gaps = plain.to_numpy()
    gaps[3, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SparseSVC(20).fit(gaps, y)
    # A fit forgets the table of an earlier one.
    refitted = SparseSVC(20, gamma=0.1, random_state=0).fit(train, y).fit(plain.to_numpy(), y)
    np.testing.assert_array_equal(refitted.decision_function(plain.to_numpy()), model.decision_function(plain))


def test_other_estimators_and_tools_take_frames():
    train, y = census()
    hours = train["hours"].astype(float).to_numpy()
    ridge = SparseKernelRidge(10, gamma=0.1, random_state=0).fit(train.drop(columns="hours"), hours)
    assert ridge.predict(train).shape == hours.shape
    basis = GreedyBasis(5, gamma=0.1, random_state=0).fit(train)
    np.testing.assert_allclose(basis.at(3).transform(train), basis.transform(train)[:, :3], atol=1e-12)
    assert len(cross_val_score(clone(SparseSVC(10, gamma=0.1, random_state=0)), train, y, cv=3)) == 3
    model = SparseSVC(gamma=0.1, random_state=0).fit(train, y)
    small = kernelet.compress(model, train, y, n_vectors=8)
    assert small.n_vectors_ == 8 and np.mean(small.predict(train) == model.predict(train)) > 0.7
    product = SparseSVC(kernel=lambda A, B: A @ B.T).fit(train, y)
    assert product.predict(train).shape == y.shape
    with pytest.raises(ValueError, match="take numbers, but the estimator takes a table"):
        SparseSVC(10, gamma=0.1, random_state=0).fit(train, y).to_sklearn()


def test_strings_that_spell_numbers_are_numbers_and_categories_are_not():
    train, y = census()
    spelled = train.assign(age=[("?" if np.isnan(age) else str(age)) for age in train["age"]])
    model, same = (SparseSVC(20, gamma=0.1, random_state=0).fit(frame, y) for frame in (train, spelled))
    np.testing.assert_array_equal(same.decision_function(train), model.decision_function(spelled))
    codes = pandas.DataFrame({"code": pandas.Categorical(np.arange(len(y)) % 3)})
    assert SparseSVC(3, gamma=0.1, random_state=0).fit(codes, y).vectors_.shape[1] == 3


def test_truth_values_are_text_where_a_file_had_them_as_text(tmp_path):
    train, y = census()
    text = train.assign(member=train["member"].astype(str))
    model = SparseSVC(20, gamma=0.1, random_state=0).fit(text, y)
    np.testing.assert_array_equal(model.decision_function(train), model.decision_function(text))


def test_arrays_need_no_pandas():
    code = "import sys; sys.modules['pandas'] = None; import numpy as np, kernelet; kernelet.SparseSVC(2).fit(np.eye(4), [0, 1, 0, 1]).predict(np.eye(4))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

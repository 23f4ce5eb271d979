//! Learners from the settings of the command line; what is not given is the learner's default.
use kernelet::{
    compress::{Baseline, BaselineLearner, construct::Starts},
    kernel::Kernel,
    learn::{Components, Fisher, Logistic, NadarayaWatson, NuSvc, NuSvr, OneClass, Parzen, Pca, Ridge, Rvm, Svc, Svr, Threshold},
};

use crate::settings::Settings;

/// The learner of these settings.
pub fn svc(kernel: Kernel, settings: &Settings) -> Svc {
    let usual = Svc::default();
    Svc {
        kernel,
        c: settings.c.unwrap_or(usual.c),
        class_weights: settings.class_weight.clone().unwrap_or_default(),
        multiclass: settings.basis.multiclass(settings.multiclass),
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        ..usual
    }
}

/// A baseline of the papers with these settings.
pub fn baseline(baseline: Baseline, kernel: Kernel, settings: &Settings) -> BaselineLearner {
    let vectors = settings.basis.vectors.unwrap_or(0);
    BaselineLearner { baseline, svc: svc(kernel, settings), vectors, starts: Starts::default().count, seed: settings.seed }
}

/// The learner of these settings.
pub fn nu_svc(kernel: Kernel, settings: &Settings) -> NuSvc {
    let usual = NuSvc::default();
    NuSvc {
        kernel,
        nu: settings.nu.unwrap_or(usual.nu),
        multiclass: settings.multiclass.unwrap_or_default(),
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        ..usual
    }
}

/// The learner of these settings.
pub fn svr(kernel: Kernel, settings: &Settings) -> Svr {
    let usual = Svr::default();
    Svr {
        kernel,
        c: settings.c.unwrap_or(usual.c),
        epsilon: settings.epsilon.unwrap_or(usual.epsilon),
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        ..usual
    }
}

/// The learner of these settings.
pub fn nu_svr(kernel: Kernel, settings: &Settings) -> NuSvr {
    let usual = NuSvr::default();
    NuSvr {
        kernel,
        c: settings.c.unwrap_or(usual.c),
        nu: settings.nu.unwrap_or(usual.nu),
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        ..usual
    }
}

/// The learner of these settings.
pub fn one_class(kernel: Kernel, settings: &Settings) -> OneClass {
    let usual = OneClass::default();
    OneClass {
        kernel,
        nu: settings.nu.unwrap_or(usual.nu),
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        ..usual
    }
}

/// The learner of these settings.
pub fn ridge(kernel: Kernel, settings: &Settings) -> Ridge {
    Ridge { kernel, lambda: settings.lambda.unwrap_or(Ridge::default().lambda) }
}

/// The learner of these settings.
pub fn fisher(kernel: Kernel, settings: &Settings) -> Fisher {
    let usual = Fisher::default();
    let cost = settings.c.unwrap_or(1.0);
    Fisher {
        kernel,
        penalty: settings.penalty.unwrap_or_default(),
        lambda: settings.lambda.unwrap_or(usual.lambda),
        bias: settings.bias.and_then(|rule| Threshold::named(rule.name(), cost)).unwrap_or_default(),
        class_weights: settings.class_weight.clone().unwrap_or_default(),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
    }
}

/// The learner of these settings.
pub fn logistic(kernel: Kernel, settings: &Settings) -> Logistic {
    let usual = Logistic::default();
    Logistic {
        kernel,
        c: settings.c.unwrap_or(usual.c),
        class_weights: settings.class_weight.clone().unwrap_or_default(),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
    }
}

/// The learner of these settings.
pub fn pca(kernel: Kernel, settings: &Settings) -> Pca {
    let usual = Pca::default();
    let count = settings.components.map(Components::Count);
    Pca {
        kernel,
        components: settings.explained.map(Components::Explained).or(count).unwrap_or(usual.components),
        whiten: settings.whiten,
        tolerance: settings.tolerance.unwrap_or(usual.tolerance),
        cache_bytes: settings.cache_bytes(usual.cache_bytes),
        seed: settings.seed,
    }
}

/// The learner of these settings.
pub fn rvm(kernel: Kernel, settings: &Settings) -> Rvm {
    let usual = Rvm::default();
    Rvm { kernel, tolerance: settings.tolerance.unwrap_or(usual.tolerance), cache_bytes: settings.cache_bytes(usual.cache_bytes), ..usual }
}

/// The learner of these settings.
pub fn parzen(kernel: Kernel, settings: &Settings) -> Parzen {
    Parzen { kernel, class_weights: settings.class_weight.clone().unwrap_or_default() }
}

/// The learner of these settings.
pub fn nadaraya_watson(kernel: Kernel, _: &Settings) -> NadarayaWatson {
    NadarayaWatson { kernel }
}

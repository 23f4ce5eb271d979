//! How long does work take? WebAssembly without a system has no clock of its own: there the host gives one.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
mod host {
    use std::time::Instant;

    /// A clock that runs.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Clock(Instant);

    impl Clock {
        /// Begins at zero.
        pub fn start() -> Self {
            Clock(Instant::now())
        }

        /// Seconds since the start.
        pub fn seconds(&self) -> f64 {
            self.0.elapsed().as_secs_f64()
        }
    }
}

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod host {
    use std::sync::OnceLock;

    static SECONDS: OnceLock<fn() -> f64> = OnceLock::new();

    /// Takes the host's clock, in seconds since any moment. Without one no time passes, and bounds on seconds are not met.
    pub fn set_clock(seconds: fn() -> f64) {
        SECONDS.get_or_init(|| seconds);
    }

    fn now() -> f64 {
        SECONDS.get().map_or(0.0, |seconds| seconds())
    }

    /// A clock that runs.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Clock(f64);

    impl Clock {
        /// Begins at zero.
        pub fn start() -> Self {
            Clock(now())
        }

        /// Seconds since the start.
        pub fn seconds(&self) -> f64 {
            now() - self.0
        }
    }
}

pub(crate) use host::Clock;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub use host::set_clock;

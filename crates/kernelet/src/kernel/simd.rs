//! The one file with `unsafe`: runs a loop with the widest instructions this machine has.
//!
//! A [`Job`] is plain safe Rust whose `run` is inlined into a function compiled for AVX-512, for AVX2 with FMA, or for the baseline
//! of the target (on aarch64 that has NEON with FMA). The compiler vectorises it anew for each, so the portable path is the same
//! source and the twin against which the others are tested ([`run_baseline`]).
#![allow(unsafe_code)]

/// A loop worth compiling for several instruction sets.
pub(crate) trait Job {
    /// What the loop gives back.
    type Output;
    /// The loop. Mark the implementation, and all it calls, `#[inline(always)]`. `FMA` is true where a fused multiply-add is one instruction.
    fn run<const FMA: bool>(self) -> Self::Output;
}

/// `a * b + c`, fused where that is one instruction: elsewhere a fused one would be a slow library call.
#[inline(always)]
pub(crate) fn multiply_add<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// [`multiply_add`] in single precision.
#[inline(always)]
pub(crate) fn multiply_add_f32<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Runs the job with the widest instructions of this machine.
#[inline]
pub(crate) fn run<J: Job>(job: J) -> J::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: the features that `run_avx512` is compiled for were just found on this machine.
            return unsafe { run_avx512(job) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the features that `run_avx2` is compiled for were just found on this machine.
            return unsafe { run_avx2(job) };
        }
    }
    run_baseline(job)
}

/// Runs the job with the instructions that every machine of this architecture has.
#[inline(never)]
pub(crate) fn run_baseline<J: Job>(job: J) -> J::Output {
    if cfg!(target_arch = "aarch64") { job.run::<true>() } else { job.run::<false>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,fma,avx2")]
fn run_avx512<J: Job>(job: J) -> J::Output {
    job.run::<true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<J: Job>(job: J) -> J::Output {
    job.run::<true>()
}

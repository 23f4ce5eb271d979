//! The one file with `unsafe`: runs a loop with the widest instructions this machine has.
//!
//! A [`Job`] is plain safe Rust whose `run` is inlined into a function compiled for AVX-512, for AVX2 with FMA, or for the baseline
//! of the target (on aarch64 that has NEON with FMA). The compiler vectorises it anew for each, so the portable path is the same
//! source and the twin against which the others are tested ([`run_baseline`]).
#![allow(unsafe_code)]

use std::sync::OnceLock;

use crate::{Error, Result, linalg::Real};

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
    match Isa::detect() {
        // SAFETY: the features that `run_avx512` is compiled for were just found on this machine.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { run_avx512(job) },
        // SAFETY: the features that `run_avx2` is compiled for were just found on this machine.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { run_avx2(job) },
        _ => run_baseline(job),
    }
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

/// The instruction sets a machine may have, widest first.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isa {
    /// 512-bit vectors.
    Avx512,
    /// 256-bit vectors with fused multiply-add.
    Avx2,
    /// Arrays that the compiler turns into what the target has.
    Portable,
}

impl Isa {
    /// The widest set of this machine, or the one that the environment variable `KERNELET_SIMD` names where the machine has it.
    pub fn detect() -> Isa {
        static CHOSEN: OnceLock<Isa> = OnceLock::new();
        *CHOSEN.get_or_init(|| Isa::forced().ok().flatten().unwrap_or(Isa::widest()))
    }

    /// The set that `KERNELET_SIMD` names; an error where the machine does not have it or there is no such set.
    pub fn forced() -> Result<Option<Isa>> {
        let Some(name) = std::env::var_os("KERNELET_SIMD") else { return Ok(None) };
        let available: Vec<Isa> = Isa::widest().with_narrower().to_vec();
        let found = available.iter().find(|isa| name.to_str() == Some(isa.name()));
        match found {
            Some(isa) => Ok(Some(*isa)),
            None => {
                let names: Vec<&str> = available.iter().map(|isa| isa.name()).collect();
                Err(Error::request(format!("KERNELET_SIMD is {}, but this machine has {}", name.display(), names.join(", "))))
            }
        }
    }

    /// As `KERNELET_SIMD` names it.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Avx512 => "avx512",
            Isa::Avx2 => "avx2",
            Isa::Portable => "portable",
        }
    }

    fn with_narrower(self) -> &'static [Isa] {
        match self {
            Isa::Avx512 => &[Isa::Avx512, Isa::Avx2, Isa::Portable],
            Isa::Avx2 => &[Isa::Avx2, Isa::Portable],
            Isa::Portable => &[Isa::Portable],
        }
    }

    fn widest() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
            {
                return Isa::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Isa::Avx2;
            }
        }
        Isa::Portable
    }

    /// All sets of this machine, for tests that go through them.
    #[cfg(test)]
    pub fn available() -> &'static [Isa] {
        Isa::widest().with_narrower()
    }
}

/// Memory that will soon be read, so that it can be asked for before.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ahead {
    start: usize,
    numbers: usize,
    size: usize,
}

impl Ahead {
    /// These numbers.
    pub fn of<T>(values: &[T]) -> Self {
        Ahead { start: values.as_ptr().addr(), numbers: values.len(), size: size_of::<T>() }
    }

    /// Asks for the cache line of number `i`; behind the end nothing is asked for.
    #[inline(always)]
    pub fn prefetch(self, i: usize) {
        #[cfg(target_arch = "x86_64")]
        if i < self.numbers {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            // SAFETY: a prefetch of any address is without effect on what the program sees.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::without_provenance(self.start + i * self.size)) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = i;
    }
}

/// A vector register. Values of these types are only made inside [`run_vectors`], where the instructions are known to exist.
pub(crate) trait Vector: Copy {
    /// The numbers in it.
    type Real: Real;
    /// How many of them.
    const WIDTH: usize;
    /// The same number in every lane.
    fn splat(x: Self::Real) -> Self;
    /// The first lanes of a slice, which must be long enough.
    fn load(from: &[Self::Real]) -> Self;
    /// Writes the lanes to the front of a slice, which must be long enough.
    fn store(self, to: &mut [Self::Real]);
    /// Lane by lane.
    fn add(self, other: Self) -> Self;
    /// `self * factor + term`, lane by lane.
    fn multiply_add(self, factor: Self, term: Self) -> Self;
    /// 2 to the power of each lane; 0 far below zero, NaN stays NaN.
    fn exp2(self) -> Self;
    /// The sum of the lanes of each of four vectors, written to the front of a slice, which must be long enough.
    fn sums(four: [Self; 4], to: &mut [Self::Real]);
}

/// Work on vector registers: `ROWS` x `COLS` of them are held at once.
pub(crate) trait VectorJob<R> {
    /// The work. Mark the implementation, and all it calls, `#[inline(always)]`.
    fn run<V: Vector<Real = R>, const ROWS: usize, const COLS: usize>(self);
}

/// Lanes of a vector of this many numbers, and vectors in one panel, for an instruction set.
pub(crate) trait SimdReal: Real {
    /// Runs the job with the registers of `isa`, which must be one that [`Isa::detect`] found or a narrower one.
    fn run_vectors(isa: Isa, job: impl VectorJob<Self>);
}

/// Lanes of one register of this instruction set.
pub(crate) fn width<R>(isa: Isa) -> usize {
    let bytes = match isa {
        Isa::Avx512 => 64,
        Isa::Avx2 => 32,
        Isa::Portable => 16,
    };
    bytes / size_of::<R>()
}

impl Isa {
    /// Rows that are worked on at once, and registers side by side in a panel of vectors: with the panel and one row they fit the registers, 32 of
    /// AVX-512 and NEON, 16 of AVX2 and SSE2. (AVX2 with 4 x 3 needs one register too many and runs at half the speed.)
    pub const fn tile(self) -> (usize, usize) {
        match self {
            Isa::Avx512 => (8, 3),
            Isa::Avx2 => (6, 2),
            Isa::Portable if cfg!(target_arch = "aarch64") => (8, 3),
            Isa::Portable => (4, 2),
        }
    }
}

/// 2^r on [-1/2, 1/2]: p(0) = 1, interpolated at Chebyshev nodes. Relative error 6e-16 (f64) and 5e-9 (f32).
const POWER_F64: [f64; 11] = [
    7.070_977_866_508_138e-9,
    1.020_590_541_376_559_5e-7,
    1.321_545_163_322_143_4e-6,
    1.525_267_292_485_073_7e-5,
    1.540_353_042_477_652_9e-4,
    1.333_355_820_079_459_2e-3,
    9.618_129_107_618_665e-3,
    5.550_410_866_465_167e-2,
    2.402_265_069_591_007_5e-1,
    6.931_471_805_599_462e-1,
    1.0,
];
const POWER_F32: [f32; 7] = [1.5453163e-4, 1.3390863e-3, 9.618_082e-3, 5.550_357e-2, 2.402_265e-1, 6.931_472e-1, 1.0];

/// Arrays of lanes: the portable twin of the registers.
macro_rules! portable {
    ($real:ty, $width:literal, $power:ident, $signed:ty, $bits:ty, $least:literal, $bias:literal, $mantissa:literal) => {
        impl Vector for [$real; $width] {
            type Real = $real;
            const WIDTH: usize = $width;
            #[inline(always)]
            fn splat(x: $real) -> Self {
                [x; $width]
            }
            #[inline(always)]
            fn load(from: &[$real]) -> Self {
                let mut lanes = [0.0; $width];
                lanes.copy_from_slice(&from[..$width]);
                lanes
            }
            #[inline(always)]
            fn store(self, to: &mut [$real]) {
                to[..$width].copy_from_slice(&self);
            }
            #[inline(always)]
            fn add(mut self, other: Self) -> Self {
                for l in 0..$width {
                    self[l] += other[l];
                }
                self
            }
            #[inline(always)]
            fn multiply_add(mut self, factor: Self, term: Self) -> Self {
                for l in 0..$width {
                    self[l] =
                        if cfg!(target_arch = "aarch64") { self[l].mul_add(factor[l], term[l]) } else { self[l] * factor[l] + term[l] };
                }
                self
            }
            #[inline(always)]
            fn exp2(mut self) -> Self {
                for l in 0..$width {
                    let t = self[l];
                    // A comparison with NaN is false, so NaN goes on to the polynomial and comes out as NaN.
                    let clamped = if t < $least { $least } else { t };
                    let k = clamped.round_ties_even();
                    let r = clamped - k;
                    let p = $power[1..].iter().fold($power[0], |p, c| p * r + c);
                    let power = <$real>::from_bits(((k as $signed).wrapping_add($bias) as $bits) << $mantissa);
                    self[l] = if t < $least { 0.0 } else { p * power };
                }
                self
            }
            #[inline(always)]
            fn sums(four: [Self; 4], to: &mut [$real]) {
                for (to, lanes) in to[..4].iter_mut().zip(four) {
                    *to = lanes[1..].iter().fold(lanes[0], |sum, lane| sum + lane);
                }
            }
        }
    };
}
portable!(f64, 2, POWER_F64, i64, u64, -1022.0, 1023, 52);
portable!(f32, 4, POWER_F32, i32, u32, -126.0, 127, 23);

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! The registers of AVX-512 and AVX2. Every call of an intrinsic is sound because these types are only used inside functions
    //! compiled for their instruction set, which `run_vectors` calls only where it exists; loads and stores check the length first.
    use super::*;
    use std::arch::x86_64::*;

    macro_rules! register {
        ($vector:ty, $real:ty, $width:literal, $splat:ident, $load:ident, $store:ident, $add:ident, $fma:ident, $exp2:ident, $sums:ident) => {
            impl Vector for $vector {
                type Real = $real;
                const WIDTH: usize = $width;
                #[inline(always)]
                fn splat(x: $real) -> Self {
                    // SAFETY: see the module's page.
                    unsafe { $splat(x) }
                }
                #[inline(always)]
                fn load(from: &[$real]) -> Self {
                    assert!(from.len() >= $width);
                    // SAFETY: see the module's page; the slice is long enough.
                    unsafe { $load(from.as_ptr()) }
                }
                #[inline(always)]
                fn store(self, to: &mut [$real]) {
                    assert!(to.len() >= $width);
                    // SAFETY: see the module's page; the slice is long enough.
                    unsafe { $store(to.as_mut_ptr(), self) }
                }
                #[inline(always)]
                fn add(self, other: Self) -> Self {
                    // SAFETY: see the module's page.
                    unsafe { $add(self, other) }
                }
                #[inline(always)]
                fn multiply_add(self, factor: Self, term: Self) -> Self {
                    // SAFETY: see the module's page.
                    unsafe { $fma(self, factor, term) }
                }
                #[inline(always)]
                fn exp2(self) -> Self {
                    // SAFETY: see the module's page.
                    unsafe { $exp2(self) }
                }
                #[inline(always)]
                fn sums(four: [Self; 4], to: &mut [$real]) {
                    assert!(to.len() >= 4);
                    // SAFETY: see the module's page; the slice is long enough.
                    unsafe { $sums(four, to.as_mut_ptr()) }
                }
            }
        };
    }

    /// The polynomial for 2^r.
    #[inline(always)]
    fn power<V: Vector, const N: usize>(r: V, coefficients: &[V::Real; N]) -> V {
        let mut p = V::splat(coefficients[0]);
        for i in 1..N {
            p = p.multiply_add(r, V::splat(coefficients[i]));
        }
        p
    }

    #[inline(always)]
    unsafe fn exp2_512d(t: __m512d) -> __m512d {
        unsafe {
            let k = _mm512_roundscale_pd::<8>(t);
            _mm512_scalef_pd(power(_mm512_sub_pd(t, k), &POWER_F64), k)
        }
    }

    #[inline(always)]
    unsafe fn exp2_512(t: __m512) -> __m512 {
        unsafe {
            let k = _mm512_roundscale_ps::<8>(t);
            _mm512_scalef_ps(power(_mm512_sub_ps(t, k), &POWER_F32), k)
        }
    }

    // For AVX2: a number near 1.5 times a power of two rounds what is added to it to a whole k, and with the exponent's bias in it leaves 2^k in its low bits.
    // `max` returns its second operand when either is NaN, and the comparison "not less than" is true for NaN, so NaN stays.
    #[inline(always)]
    unsafe fn exp2_256d(t: __m256d) -> __m256d {
        unsafe {
            let least = _mm256_set1_pd(-1022.0);
            let clamped = _mm256_max_pd(least, t);
            let round = _mm256_set1_pd(6_755_399_441_055_744.0 + 1023.0);
            let shifted = _mm256_add_pd(clamped, round);
            let r = _mm256_sub_pd(clamped, _mm256_sub_pd(shifted, round));
            let scale = _mm256_castsi256_pd(_mm256_slli_epi64::<52>(_mm256_castpd_si256(shifted)));
            let result = _mm256_mul_pd(power(r, &POWER_F64), scale);
            _mm256_and_pd(result, _mm256_cmp_pd::<_CMP_NLT_UQ>(t, least))
        }
    }

    #[inline(always)]
    unsafe fn exp2_256(t: __m256) -> __m256 {
        unsafe {
            let least = _mm256_set1_ps(-126.0);
            let clamped = _mm256_max_ps(least, t);
            let round = _mm256_set1_ps(12_582_912.0 + 127.0);
            let shifted = _mm256_add_ps(clamped, round);
            let r = _mm256_sub_ps(clamped, _mm256_sub_ps(shifted, round));
            let scale = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_castps_si256(shifted)));
            let result = _mm256_mul_ps(power(r, &POWER_F32), scale);
            _mm256_and_ps(result, _mm256_cmp_ps::<_CMP_NLT_UQ>(t, least))
        }
    }

    // Sums of four registers: neighbours of two registers are added side by side, then the halves of what that gives.
    #[inline(always)]
    unsafe fn sums_512d([a, b, c, d]: [__m512d; 4], to: *mut f64) {
        unsafe {
            let ab = _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
            let cd = _mm512_add_pd(_mm512_unpacklo_pd(c, d), _mm512_unpackhi_pd(c, d));
            join_256d(halves_512d(ab), halves_512d(cd), to);
        }
    }

    #[inline(always)]
    unsafe fn halves_512d(t: __m512d) -> __m256d {
        unsafe { _mm256_add_pd(_mm512_castpd512_pd256(t), _mm512_extractf64x4_pd::<1>(t)) }
    }

    #[inline(always)]
    unsafe fn sums_256d([a, b, c, d]: [__m256d; 4], to: *mut f64) {
        unsafe {
            let ab = _mm256_add_pd(_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
            let cd = _mm256_add_pd(_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
            join_256d(ab, cd, to);
        }
    }

    #[inline(always)]
    unsafe fn join_256d(ab: __m256d, cd: __m256d, to: *mut f64) {
        unsafe {
            let (lower, upper) = (_mm256_permute2f128_pd::<0x20>(ab, cd), _mm256_permute2f128_pd::<0x31>(ab, cd));
            _mm256_storeu_pd(to, _mm256_add_pd(lower, upper));
        }
    }

    #[inline(always)]
    unsafe fn sums_512([a, b, c, d]: [__m512; 4], to: *mut f32) {
        unsafe { sums_256([halves_512(a), halves_512(b), halves_512(c), halves_512(d)], to) }
    }

    #[inline(always)]
    unsafe fn halves_512(t: __m512) -> __m256 {
        unsafe { _mm256_add_ps(_mm512_castps512_ps256(t), _mm512_extractf32x8_ps::<1>(t)) }
    }

    #[inline(always)]
    unsafe fn sums_256([a, b, c, d]: [__m256; 4], to: *mut f32) {
        unsafe {
            let ab = _mm256_castps_pd(_mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b)));
            let cd = _mm256_castps_pd(_mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d)));
            let (even, odd) = (_mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd)), _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd)));
            let sums = _mm256_add_ps(even, odd);
            _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps::<1>(sums)));
        }
    }

    register!(__m512d, f64, 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_add_pd, _mm512_fmadd_pd, exp2_512d, sums_512d);
    register!(__m512, f32, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps, _mm512_fmadd_ps, exp2_512, sums_512);
    register!(__m256d, f64, 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_add_pd, _mm256_fmadd_pd, exp2_256d, sums_256d);
    register!(__m256, f32, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_fmadd_ps, exp2_256, sums_256);

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,fma,avx2")]
    pub(super) fn wide<V: Vector>(job: impl VectorJob<V::Real>) {
        job.run::<V, { Isa::Avx512.tile().0 }, { Isa::Avx512.tile().1 }>();
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn narrow<V: Vector>(job: impl VectorJob<V::Real>) {
        job.run::<V, { Isa::Avx2.tile().0 }, { Isa::Avx2.tile().1 }>();
    }
}

macro_rules! simd_real {
    ($real:ty, $wide:ident, $narrow:ident, $portable:ty) => {
        impl SimdReal for $real {
            fn run_vectors(isa: Isa, job: impl VectorJob<Self>) {
                match isa {
                    // SAFETY: `Isa::detect` found the features that these functions are compiled for.
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => unsafe { x86::wide::<std::arch::x86_64::$wide>(job) },
                    // SAFETY: as above.
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => unsafe { x86::narrow::<std::arch::x86_64::$narrow>(job) },
                    _ => job.run::<$portable, { Isa::Portable.tile().0 }, { Isa::Portable.tile().1 }>(),
                }
            }
        }
    };
}
simd_real!(f64, __m512d, __m256d, [f64; 2]);
simd_real!(f32, __m512, __m256, [f32; 4]);

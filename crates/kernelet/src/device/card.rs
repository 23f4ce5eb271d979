//! An NVIDIA card: its driver, memory, streams and launches. The one file of this module with `unsafe`.
//!
//! The driver's library is opened at the first use; where it is missing, too old or without cards, a sentence says so. Nothing here knows what a kernel
//! computes: callers pass the arguments that the kernel of this name declares, and buffers that hold what it reads and writes.
#![allow(unsafe_code)]
use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex},
};

use cudarc::{
    driver::{
        CudaContext, CudaFunction, CudaModule, CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError, LaunchConfig, PinnedHostSlice,
        PushKernelArg, ValidAsZeroBits, result, sys,
    },
    nvrtc::Ptx,
};

use super::{
    kernels,
    listing::{CardFacts, Listing},
};
use crate::{Error, Result};

/// The oldest driver, as CUDA counts versions: 12.0.
const OLDEST_DRIVER: i32 = 12_000;

/// Numbers that cards and the processor hold alike.
pub(crate) trait Plain: DeviceRepr + ValidAsZeroBits + Copy + Send + Sync {}
impl<T: DeviceRepr + ValidAsZeroBits + Copy + Send + Sync> Plain for T {}

/// Memory of a card.
#[derive(Debug)]
pub(crate) struct Buffer<T> {
    slice: CudaSlice<T>,
    place: u64,
}

impl<T> Buffer<T> {
    /// Its address as a number.
    pub fn word(&self) -> u64 {
        self.place
    }

    /// Its address from the item with this number on.
    pub fn from(&self, item: usize) -> Arg {
        Arg::Place(self.place + (item * size_of::<T>()) as u64)
    }
}

/// Memory of the processor that the card reads and writes by itself.
pub(crate) struct Pinned<T> {
    slice: PinnedHostSlice<T>,
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg {
    Place(u64),
    Int(i32),
    Single(f32),
    Double(f64),
    Long(usize),
}

/// Two lists of 64 numbers of 8 bytes that a kernel takes by value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lists(pub [[u64; Lists::LEN]; 2]);

impl Lists {
    /// Numbers of each list.
    pub const LEN: usize = 64;
}

// SAFETY: plain numbers, laid out as in `cuda/descent.cu`.
unsafe impl DeviceRepr for Lists {}

/// A card that is open, with its kernels.
#[derive(Debug)]
pub(crate) struct Card {
    context: Arc<CudaContext>,
    module: Arc<CudaModule>,
    functions: Mutex<HashMap<String, CudaFunction>>,
    /// Multiprocessors.
    pub processors: usize,
    /// Bytes of memory, free or not.
    pub memory: usize,
    /// Bytes of shared memory that a block may ask for.
    pub shared: usize,
}

/// Work in order on a card.
pub(crate) type Stream = Arc<CudaStream>;

/// Cards that this process has opened.
static OPEN: Mutex<Vec<(usize, Arc<Card>)>> = Mutex::new(vec![]);

/// A sentence about an error of the driver.
fn failed(error: DriverError) -> Error {
    use sys::CUresult as Code;
    let name = || error.error_name().ok().and_then(|name| name.to_str().ok()).unwrap_or("an unknown error").to_string();
    Error::device(match error.0 {
        Code::CUDA_ERROR_OUT_OF_MEMORY => {
            "the GPU has too little free memory for this; use the device cpu, or free memory on the card".into()
        }
        Code::CUDA_ERROR_NO_DEVICE => "the driver finds no NVIDIA GPU; use the device cpu".into(),
        Code::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH | Code::CUDA_ERROR_SYSTEM_NOT_READY => {
            format!("the NVIDIA driver does not work ({}); reinstall it or restart the machine, or use the device cpu", name())
        }
        _ => format!("the GPU reported an error: {}", name()),
    })
}

/// Starts the driver and returns the newest CUDA that it knows.
fn driver() -> Result<i32> {
    // SAFETY: opening the library runs its initialisers, which is what a driver is for; nothing of it is kept here.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::device("there is no NVIDIA driver on this machine; install it, or use the device cpu"));
    }
    let mut version = 0;
    // SAFETY: the library is there, and the place for the answer is a live number.
    unsafe { sys::cuDriverGetVersion(&mut version).result() }.map_err(failed)?;
    if version < OLDEST_DRIVER {
        return Err(Error::device(format!(
            "the NVIDIA driver is too old: it knows CUDA {}, but 12.0 is needed (driver 525 or newer); update it, or use the device cpu",
            version_name(version)
        )));
    }
    result::init().map_err(failed)?;
    Ok(version)
}

fn version_name(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// All cards, without opening any.
pub(super) fn listing() -> Listing {
    let driver = match driver() {
        Ok(version) => version,
        Err(error) => return Listing { note: Some(error.to_string()), ..Listing::default() },
    };
    let count = result::device::get_count().unwrap_or(0);
    let devices: Vec<CardFacts> = (0..count).filter_map(facts).collect();
    let note = devices.is_empty().then(|| "the driver finds no NVIDIA GPU".to_string());
    Listing { devices, driver: Some(version_name(driver)), note }
}

fn facts(number: i32) -> Option<CardFacts> {
    use sys::CUdevice_attribute as Attribute;
    let device = result::device::get(number).ok()?;
    // SAFETY: `device` is a device of the driver, which was started.
    let attribute = |attribute| unsafe { result::device::get_attribute(device, attribute) }.ok();
    let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    // SAFETY: as above.
    let memory = unsafe { result::device::total_mem(device) }.ok()?;
    Some(CardFacts {
        device: format!("gpu:{number}"),
        name: result::device::get_name(device).ok()?,
        capability: format!("{major}.{minor}"),
        memory: memory as u64,
        problem: too_old(10 * major + minor),
    })
}

fn too_old(generation: i32) -> Option<String> {
    (generation < kernels::OLDEST)
        .then(|| format!("compute capability {}.{} is too old; 8.0 (cards from 2020 on) is needed", generation / 10, generation % 10))
}

impl Card {
    /// The card with this number, opened once for the whole process.
    pub fn open(number: usize) -> Result<Arc<Self>> {
        let mut open = OPEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, card)) = open.iter().find(|(known, _)| *known == number) {
            return Ok(card.clone());
        }
        driver()?;
        let count = CudaContext::device_count().map_err(failed)?;
        if number >= usize::try_from(count).unwrap_or(0) {
            return Err(Error::device(match count {
                0 => "the driver finds no NVIDIA GPU; use the device cpu".to_string(),
                1 => format!("there is no gpu:{number}; the one GPU of this machine is gpu:0"),
                _ => format!("there is no gpu:{number}; this machine has gpu:0 to gpu:{}", count - 1),
            }));
        }
        let card = Arc::new(Card::opened(number)?);
        open.push((number, card.clone()));
        Ok(card)
    }

    fn opened(number: usize) -> Result<Self> {
        use sys::CUdevice_attribute as Attribute;
        let context = CudaContext::new(number).map_err(failed)?;
        let (major, minor) = context.compute_capability().map_err(failed)?;
        if let Some(problem) = too_old(10 * major + minor) {
            return Err(Error::device(format!("gpu:{number} cannot be used: {problem}; use the device cpu")));
        }
        // SAFETY: callers synchronise streams themselves before they read or free what another stream uses.
        unsafe { context.disable_event_tracking() };
        let module = context.load_module(Ptx::from_binary(kernels::code_for(10 * major + minor)?)).map_err(failed)?;
        let attribute = |attribute| context.attribute(attribute).map(|value| value.max(0) as usize).map_err(failed);
        let processors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let shared = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let memory = context.mem_get_info().map_err(failed)?.1;
        Ok(Card { context, module, functions: Mutex::default(), processors, memory, shared })
    }

    /// Bytes of memory that are free.
    pub fn free_memory(&self) -> Result<usize> {
        self.context.mem_get_info().map(|(free, _)| free).map_err(failed)
    }

    /// A stream of its own.
    pub fn stream(&self) -> Result<Stream> {
        self.context.new_stream().map_err(failed)
    }

    /// A stream of the caller, by its handle; 0 is the card's default one.
    pub fn stream_of(&self, handle: u64) -> Stream {
        // SAFETY: the caller names a live stream of this card, and keeps it while it waits for the work; work is only added at its end.
        unsafe { self.context.wrap_borrowed_stream(handle as sys::CUstream) }
    }

    /// Memory with zeros.
    pub fn zeros<T: Plain>(&self, stream: &Stream, len: usize) -> Result<Buffer<T>> {
        let slice = stream.alloc_zeros(len.max(1)).map_err(failed)?;
        let place = slice.device_ptr(stream).0;
        Ok(Buffer { slice, place })
    }

    /// Memory with these numbers, which are there when this returns.
    pub fn upload<T: Plain>(&self, stream: &Stream, values: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.zeros(stream, values.len())?;
        self.write(stream, values, &mut buffer, 0)?;
        Ok(buffer)
    }

    /// Writes numbers to a buffer from the item with this number on; they are there when this returns.
    pub fn write<T: Plain>(&self, stream: &Stream, values: &[T], to: &mut Buffer<T>, first: usize) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let mut view = to.slice.try_slice_mut(first..first + values.len()).ok_or_else(beyond)?;
        stream.memcpy_htod(values, &mut view).map_err(failed)?;
        stream.synchronize().map_err(failed)
    }

    /// Memory of the processor that the card reads and writes by itself.
    pub fn pinned<T: Plain>(&self, len: usize) -> Result<Pinned<T>> {
        // SAFETY: numbers of any bits are numbers, and every item is written before it is read.
        let mut slice = unsafe { self.context.alloc_pinned_with_flags::<T>(len.max(1), 0) }.map_err(failed)?;
        // SAFETY: all bits zero is a number of T.
        slice.as_mut_slice().map_err(failed)?.fill(unsafe { std::mem::zeroed() });
        Ok(Pinned { slice })
    }

    /// Begins to copy the first `len` items to the card, from the item with this number on; the buffer must stay as it is until the stream has done so.
    pub fn send<T: Plain>(&self, stream: &Stream, from: &Pinned<T>, len: usize, (to, first): (&mut Buffer<T>, usize)) -> Result<()> {
        let mut view = to.slice.try_slice_mut(first..first + len).ok_or_else(beyond)?;
        let from = from.slice.as_slice().map_err(failed)?.get(..len).ok_or_else(beyond)?;
        // SAFETY: both places have `len` items, live in this thread's context, and outlive the stream's work, for which callers wait.
        unsafe { result::memcpy_htod_async(cudarc::driver::DevicePtrMut::device_ptr_mut(&mut view, stream).0, from, stream.cu_stream()) }
            .map_err(failed)
    }

    /// Begins to copy some items from the card to the beginning of a buffer.
    pub fn fetch<T: Plain>(&self, stream: &Stream, from: &Buffer<T>, items: Range<usize>, to: &mut Pinned<T>) -> Result<()> {
        let to = to.slice.as_mut_slice().map_err(failed)?.get_mut(..items.len()).ok_or_else(beyond)?;
        let view = from.slice.try_slice(items).ok_or_else(beyond)?;
        // SAFETY: as in `send`.
        unsafe { result::memcpy_dtoh_async(to, view.device_ptr(stream).0, stream.cu_stream()) }.map_err(failed)
    }

    /// Begins to fill memory with zeros.
    pub fn clear<T: Plain>(&self, stream: &Stream, buffer: &mut Buffer<T>) -> Result<()> {
        stream.memset_zeros(&mut buffer.slice).map_err(failed)
    }

    /// Waits for the work of a stream.
    pub fn wait(&self, stream: &Stream) -> Result<()> {
        stream.synchronize().map_err(failed)
    }

    /// A stream whose work goes before that of others.
    pub fn urgent_stream(&self) -> Result<Stream> {
        let (_, most) = result::stream::get_priority_range().map_err(failed)?;
        self.context.new_stream_with_priority(most).map_err(failed)
    }

    /// Lets a stream go on only after the work that another has now.
    pub fn join(&self, stream: &Stream, other: &Stream) -> Result<()> {
        stream.join(other).map_err(failed)
    }

    /// Starts a kernel on `grid` blocks of `threads` threads with so many bytes of shared memory.
    pub fn launch(&self, stream: &Stream, name: &str, grid: [usize; 3], threads: usize, shared: usize, args: &[Arg]) -> Result<()> {
        self.start(stream, name, grid, (threads, shared), None, args)
    }

    /// Starts a kernel of 256 threads a block whose first argument are lists.
    pub fn launch_lists(&self, stream: &Stream, name: &str, grid: [usize; 3], lists: &Lists, args: &[Arg]) -> Result<()> {
        self.start(stream, name, grid, (256, 0), Some(lists), args)
    }

    fn start(
        &self,
        stream: &Stream,
        name: &str,
        grid: [usize; 3],
        (threads, shared): (usize, usize),
        lists: Option<&Lists>,
        args: &[Arg],
    ) -> Result<()> {
        let function = self.function(name)?;
        let [x, y, z] = grid.map(|blocks| blocks as u32);
        let mut launch = stream.launch_builder(&function);
        if let Some(lists) = lists {
            launch.arg(lists);
        }
        for arg in args {
            match arg {
                Arg::Place(value) => launch.arg(value),
                Arg::Int(value) => launch.arg(value),
                Arg::Single(value) => launch.arg(value),
                Arg::Double(value) => launch.arg(value),
                Arg::Long(value) => launch.arg(value),
            };
        }
        let config = LaunchConfig { grid_dim: (x, y, z), block_dim: (threads as u32, 1, 1), shared_mem_bytes: shared as u32 };
        // SAFETY: the callers in this module pass the arguments that the kernel declares, for buffers of the sizes that it uses.
        unsafe { launch.launch(config) }.map(drop).map_err(failed)
    }

    fn function(&self, name: &str) -> Result<CudaFunction> {
        let mut functions = self.functions.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(function) = functions.get(name) {
            return Ok(function.clone());
        }
        let function = self.module.load_function(name).map_err(failed)?;
        let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let reserved = function.shared_size_bytes().unwrap_or(0);
        function.set_attribute(most, self.shared as i32 - reserved).map_err(failed)?;
        functions.insert(name.into(), function.clone());
        Ok(function)
    }
}

impl<T: Plain> Pinned<T> {
    /// Its items, to be written before they are sent.
    pub fn items_mut(&mut self) -> Result<&mut [T]> {
        self.slice.as_mut_slice().map_err(failed)
    }

    /// Its items, after the stream that fetched them was waited for.
    pub fn items(&self) -> Result<&[T]> {
        self.slice.as_slice().map_err(failed)
    }
}

fn beyond() -> Error {
    Error::device("a buffer of the GPU is smaller than what is copied")
}

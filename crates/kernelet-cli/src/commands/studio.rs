//! `kernelet studio`: the page on which machines are trained in the browser, served to this machine alone.
use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::{Command, Stdio},
    thread::Builder,
    time::{Duration, Instant},
};

use clap::Args;
use serde::Serialize;

use crate::{
    failure::{Failure, Result},
    session::{Answer, Session},
};

/// Flags of `studio`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Studio {
    /// The port on this machine [default: one that is free].
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Do not open a browser, only print the address.
    #[arg(long)]
    pub no_open: bool,
}

const EXAMPLES: &str = "\
Examples:
  kernelet studio
  kernelet studio --port 8765 --no-open

The page trains and compresses machines in the browser, where the library runs as WebAssembly. It is served to this machine alone, and what is opened on it
never leaves it. Ctrl-C ends the program; a page that is open goes on working.";

/// The page, which `make studio` has made.
#[cfg(feature = "studio")]
const PAGE: Option<&[u8]> = Some(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/studio/index.html")));
#[cfg(not(feature = "studio"))]
const PAGE: Option<&[u8]> = None;

/// How long a browser may take for its request, and how long Ctrl-C may take to be seen.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// The longest request that is read.
const LONGEST: usize = 16 * 1024;

#[derive(Serialize)]
struct Served {
    studio: String,
    bytes: usize,
}

impl Answer for Served {
    fn text(&self) -> String {
        format!("The studio is at {}; Ctrl-C ends it.\n", self.studio)
    }
}

impl Studio {
    /// Serves the page until Ctrl-C.
    pub fn run(self, session: &Session) -> Result<()> {
        let page = PAGE.ok_or_else(|| {
            Failure::failed("this build has no studio").hint("`make studio` makes its page, target/studio/index.html, which opens by itself; `cargo build --release --features studio` puts it into the program")
        })?;
        let port = self.port.unwrap_or(0);
        let unable = |error| Failure::failed(format!("port {port} of this machine cannot be taken: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(unable)?;
        let address = listener.local_addr().map_err(unable)?;
        listener.set_nonblocking(true).map_err(unable)?;
        let studio = format!("http://{address}/");
        session.answer(&Served { studio: studio.clone(), bytes: page.len() })?;
        if !self.no_open && !opened(&studio) {
            session.note("no browser could be opened; open the address in one");
        }
        while !session.interrupted() {
            match listener.accept() {
                // A browser may connect early and ask late, or ask twice at once. One that fails asks again.
                // Where there is no thread for it, the connection is closed.
                Ok((stream, _)) => drop(Builder::new().spawn(move || served(stream, page, PATIENCE))),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
        Err(Failure::Kept("the studio is closed".into()))
    }
}

/// Opens the address in the browser of the desktop, where there is one.
fn opened(address: &str) -> bool {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    Command::new(program).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}

/// Answers one request: the page, or that there is nothing else.
fn served(mut stream: TcpStream, page: &[u8], patience: Duration) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    let mut request = vec![];
    let mut part = [0; 1024];
    let begun = Instant::now();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < LONGEST {
        // One byte now and then is no request either.
        if begun.elapsed() > patience {
            return Ok(());
        }
        match stream.read(&mut part)? {
            0 => return Ok(()),
            read => request.extend_from_slice(&part[..read]),
        }
    }
    stream.write_all(&answered(&request, page))?;
    stream.flush()
}

/// The answer to a request.
fn answered(request: &[u8], page: &[u8]) -> Vec<u8> {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, kind, body): (&str, &str, &[u8]) = match (method, path) {
        (b"GET" | b"HEAD", b"/" | b"/index.html") => ("200 OK", "text/html; charset=utf-8", page),
        (b"GET" | b"HEAD", _) => ("404 Not Found", "text/plain; charset=utf-8", b"There is nothing but the page at /.\n"),
        _ => ("405 Method Not Allowed", "text/plain; charset=utf-8", b"The page takes nothing: GET / is all there is.\n"),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let body: &[u8] = if method == b"HEAD" { &[] } else { body };
    [head.as_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(request: &str) -> (String, String) {
        let answer = String::from_utf8(answered(request.as_bytes(), b"<page>")).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_string(), body.to_string())
    }

    #[test]
    fn there_is_the_page_and_nothing_else() {
        assert_eq!(status("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), ("HTTP/1.1 200 OK".into(), "<page>".into()));
        assert_eq!(status("HEAD / HTTP/1.1\r\n\r\n"), ("HTTP/1.1 200 OK".into(), String::new()));
        for path in ["/../../etc/passwd", "/favicon.ico", "//", "/index.html/x"] {
            assert_eq!(status(&format!("GET {path} HTTP/1.1\r\n\r\n")).0, "HTTP/1.1 404 Not Found", "{path}");
        }
        for request in ["POST / HTTP/1.1\r\n\r\n", "", "\r\n\r\n", "\u{0}\u{1}"] {
            assert_eq!(status(request).0, "HTTP/1.1 405 Method Not Allowed", "{request:?}");
        }
    }

    #[test]
    fn a_browser_on_this_machine_gets_the_page() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut browser = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = std::thread::spawn(move || served(listener.accept().unwrap().0, b"<page>", PATIENCE));
        // A request that comes in two parts.
        browser.write_all(b"GET / HT").unwrap();
        browser.flush().unwrap();
        browser.write_all(b"TP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        browser.read_to_string(&mut answer).unwrap();
        server.join().unwrap().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n<page>"), "{answer}");
        assert!(answer.contains("Content-Type: text/html; charset=utf-8\r\nContent-Length: 6\r\n"), "{answer}");
    }

    #[test]
    fn a_request_that_never_ends_is_given_up() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut browser = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let patience = Duration::from_millis(100);
        let server = std::thread::spawn(move || served(listener.accept().unwrap().0, b"<page>", patience));
        let mut sent = 0;
        while !server.is_finished() && sent < LONGEST && browser.write_all(b"x").is_ok() {
            sent += 1;
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(server.join().unwrap().is_ok() && sent < LONGEST / 2, "{sent}");
    }
}

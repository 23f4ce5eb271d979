//! A browser that is asked over pipes: pages are opened, used with mouse and keys, and looked at.
use std::{
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use super::program::Folder;

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: Option<String>,
    asked: u64,
    /// What went wrong on the page, and what it asked the network for.
    pub wrong: Vec<String>,
}

impl Browser {
    /// A browser that shows the page at an address.
    pub fn open(folder: &Folder, address: &str) -> Browser {
        let (to, from) = (folder.path("to-browser"), folder.path("from-browser"));
        assert!(Command::new("mkfifo").args([&to, &from]).status().unwrap().success());
        let browser = std::env::var("KERNELET_BROWSER").expect("KERNELET_BROWSER names a browser; make test-browser sets it");
        let profile = format!("--user-data-dir={}", folder.path("profile"));
        let flags =
            ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--remote-debugging-pipe", &profile];
        // The browser reads descriptor 3 and writes descriptor 4.
        let run = format!("exec \"$0\" \"$@\" 3<'{to}' 4>'{from}'");
        let child =
            Command::new("sh").args(["-c", &run, &browser]).args(flags).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let (to, from) = (OpenOptions::new().write(true).open(&to).unwrap(), BufReader::new(File::open(&from).unwrap()));
        let mut browser = Browser { child, to, from, session: None, asked: 0, wrong: vec![] };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let session = browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = session["sessionId"].as_str().map(String::from);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        let offline = json!({"offline": true, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0});
        browser.call("Network.emulateNetworkConditions", offline);
        browser.call("Page.navigate", json!({"url": address}));
        browser
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.asked += 1;
        let mut message = json!({"id": self.asked, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut bytes = vec![];
            assert!(self.from.read_until(0, &mut bytes).unwrap() > 0, "the browser has ended");
            let answer: Value = serde_json::from_slice(&bytes[..bytes.len() - 1]).unwrap();
            if answer["id"] == json!(self.asked) {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.take_note(&answer);
        }
    }

    fn take_note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.wrong.push(parameters["exceptionDetails"].to_string()),
            Some("Log.entryAdded") => self.wrong.push(parameters["entry"]["text"].to_string()),
            Some("Network.requestWillBeSent") => {
                let address = parameters["request"]["url"].as_str().unwrap_or_default();
                if !["file:", "blob:", "data:"].iter().any(|local| address.starts_with(local)) {
                    self.wrong.push(format!("asked for {address}"));
                }
            }
            _ => {}
        }
    }

    /// The value of an expression on the page; a promise is waited for.
    pub fn value(&mut self, expression: &str) -> Value {
        let found = self.call("Runtime.evaluate", json!({"expression": expression, "awaitPromise": true, "returnByValue": true}));
        assert!(found["exceptionDetails"].is_null(), "{expression}: {found}");
        found["result"]["value"].clone()
    }

    /// Waits until an expression holds.
    pub fn until(&mut self, expression: &str) {
        let turns = 3000;
        let wait = format!(
            "(async () => {{ for (let i = 0; i < {turns}; i++) {{ if ({expression}) return true; await new Promise(go => setTimeout(go, 100)); }} return false; }})()"
        );
        let held = self.value(&wait);
        assert_eq!(held, json!(true), "{expression}: {}", self.value("document.body.innerText.slice(0, 1500)"));
    }

    /// Moves the pressed mouse along places that are fractions of an element.
    pub fn drag(&mut self, element: &str, places: &[(f64, f64)]) {
        let bounds = format!(
            "(() => {{ const e = document.querySelector('{element}'); e.scrollIntoView(); const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }})()"
        );
        let bounds: Vec<f64> = self.value(&bounds).as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect();
        for (i, (x, y)) in places.iter().enumerate() {
            let at =
                json!({"x": bounds[0] + x * bounds[2], "y": bounds[1] + y * bounds[3], "button": "left", "buttons": 1, "clickCount": 1});
            let with = |kind: &str| {
                let mut event = at.clone();
                event["type"] = json!(kind);
                event
            };
            if i == 0 {
                self.call("Input.dispatchMouseEvent", with("mousePressed"));
            }
            self.call("Input.dispatchMouseEvent", with("mouseMoved"));
            if i + 1 == places.len() {
                self.call("Input.dispatchMouseEvent", with("mouseReleased"));
            }
        }
    }

    /// Presses a key on the element that has the focus.
    pub fn key(&mut self, key: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}));
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

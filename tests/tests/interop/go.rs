//! The Go package, in a process of `tests/interop/`, one request at a time.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

/// Field and value pairs.
pub(crate) type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// One client of the Go package.
pub(crate) struct Go {
    process: Child,
    requests: Option<ChildStdin>,
    responses: BufReader<ChildStdout>,
}

/// A message that Go has read.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    /// The key of its stream.
    pub(crate) stream: String,
    pub(crate) id: String,
    /// Sorted, since Go has a map.
    pub(crate) fields: Fields,
}

impl Go {
    pub(crate) fn start(url: &str) -> Self {
        let program = std::env::var_os("MILLPOND_INTEROP_PROGRAM")
            .expect("tests/interop/run builds the Go program and says where it is");
        let mut process = Command::new(program)
            .args(["serve", url])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the Go program starts");
        let requests = process.stdin.take();
        let responses = BufReader::new(process.stdout.take().expect("it is piped"));
        Self { process, requests, responses }
    }

    /// Calls, and returns Go's result or the text of its error.
    pub(crate) fn try_call(&mut self, call: &str, mut request: Value) -> Result<Value, String> {
        request["call"] = call.into();
        request["ttl"] = 86_400.into();
        let requests = self.requests.as_mut().expect("it is open until the drop");
        writeln!(requests, "{request}").expect("the Go program lives");
        let mut line = String::new();
        self.responses.read_line(&mut line).expect("the Go program lives");
        let mut response: Value = serde_json::from_str(&line).expect("an response is JSON");
        match response.get("error") {
            Some(error) => Err(error.as_str().expect("an error is a text").to_owned()),
            None => Ok(response["ok"].take()),
        }
    }

    pub(crate) fn call(&mut self, call: &str, request: Value) -> Value {
        let shown = request.to_string();
        self.try_call(call, request).unwrap_or_else(|error| panic!("{call} {shown}: {error}"))
    }

    /// Writes with `settings` (`name`, `streams`, …) and returns the id.
    pub(crate) fn write(&mut self, settings: &Value, key: &[u8], fields: &Fields) -> String {
        let mut request = settings.clone();
        request["shard_key"] = BASE64.encode(key).into();
        request["fields"] =
            fields.iter().map(|(f, v)| json!([BASE64.encode(f), BASE64.encode(v)])).collect();
        self.call("write", request).as_str().expect("an id is a text").to_owned()
    }

    pub(crate) fn read(&mut self, name: &str, consumer: &str, block_ms: u64) -> Option<Taken> {
        let request =
            json!({"name": name, "group": "g", "consumer": consumer, "block_ms": block_ms});
        let response = self.call("read", request);
        if response.is_null() {
            return None;
        }
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let pairs = response["fields"].as_array().expect("a list");
        let mut fields: Fields =
            pairs.iter().map(|pair| (decoded(&pair[0]), decoded(&pair[1]))).collect();
        fields.sort();
        Some(Taken { stream: text(&response["stream"]), id: text(&response["id"]), fields })
    }

    /// Acknowledges; returns whether it was pending.
    pub(crate) fn ack(&mut self, taken: &Taken) -> bool {
        let request = json!({"stream": taken.stream, "group": "g", "id": taken.id});
        self.call("ack", request) == 1
    }

    pub(crate) fn len(&mut self, name: &str) -> u64 {
        self.call("len", json!({"name": name})).as_u64().expect("a number")
    }

    /// Entries and pending messages of the group `g`.
    pub(crate) fn stats(&mut self, name: &str) -> (u64, u64) {
        let response = self.call("stats", json!({"name": name, "group": "g"}));
        (response[0].as_u64().expect("a number"), response[1].as_u64().expect("a number"))
    }

    pub(crate) fn delete_tracked(&mut self, value: &[u8]) -> Result<(), String> {
        self.try_call("del", json!({"value": BASE64.encode(value)})).map(drop)
    }
}

impl Drop for Go {
    fn drop(&mut self) {
        // The program ends when its stdin does, and at once if it still waits for a message.
        drop(self.requests.take());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Bytes as the program returns them; Go has null for none.
pub(crate) fn decoded(value: &Value) -> Vec<u8> {
    BASE64.decode(value.as_str().unwrap_or_default()).expect("bytes are base64")
}

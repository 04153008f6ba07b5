//! Pages of a site whose processes give their idle moments: what the visitors see of it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use millpond_tests::servers::Redis;
use tempfile::TempDir;

use crate::Outcome;
use crate::report::{Report, number, ratio};

/// Pages of each of the three sites.
const PAGES: usize = 10_000;

/// Pages that come from one site before the other has its turn.
const TURN: usize = 500;

const VISITORS: usize = 4;

/// How long a visitor looks at a page: together they ask for 250 a second.
const BETWEEN: Duration = Duration::from_millis(16);

const BODY: &str = "a page of the site ";
const TASKS: usize = 2_000;
const HASHES: usize = 500;

/// A server of pages: its name, and how it is started on a port, in a folder.
type Server = (&'static str, fn(u16, &Path) -> Outcome<Vec<Command>>);

const SERVERS: [Server; 4] = [
    ("php-fpm behind nginx, 4 processes", php_fpm),
    ("gunicorn (WSGI), 4 processes", |port, _| {
        Ok(vec![python(&["gunicorn", "--workers", "4"], port, "wsgi")?])
    }),
    ("uvicorn (ASGI), 1 process", |port, _| Ok(vec![python(&["uvicorn"], port, "asgi")?])),
    ("Node, 1 process", |port, _| {
        let mut node = Command::new(variable("MILLPOND_BENCH_NODE")?);
        node.arg(folder("node/pages.mjs")).arg(port.to_string());
        Ok(vec![node])
    }),
];

pub(crate) fn measure(report: &mut Report) -> Outcome {
    let section = report.section(
        "Pages of a site that gives its idle moments",
        "10,000 pages each of a site that loads nothing of Millpond, of one that loads it, connects and installs its jobs, \
         and of one whose processes also enlist after each response, 500 in turn, from four visitors who together ask for \
         250 a second. Slices drain a task store (10 a second, 10 ms each) and reap a family of hashes (20 a second). \
         Milliseconds from the request to the end of the response. All bodies were complete and had nothing else in them, \
         nothing was logged, all tasks were done and all fields reaped. Aim: enlisting leaves the 99th percentile of the \
         site that loads unchanged.\n\n\
         ![Slices a second while 50 times as many pages come](burst.svg)",
        &["server", "p50 without, loaded, enlisting", "p99", "p99, enlisting to loaded", "slices", "connections"],
    );
    for (name, start) in SERVERS {
        let server = Redis::start();
        let client = millpond::connect(&server.url())?;
        let store = client.tasks("store");
        for number in 0..TASKS {
            store.insert("orders", number.to_string())?;
        }
        let carts = client.volatile_hashes("carts", millpond::volatile::SHARDS_DEFAULT);
        for number in 0..HASHES {
            let fields = [("a", "1"), ("b", "2")];
            carts.hash(number.to_string()).set_many(fields, Duration::from_millis(1))?;
        }
        let url = server.url();
        let sites = [
            Site::start(start, "", true)?,
            Site::start(start, &url, false)?,
            Site::start(start, &url, true)?,
        ];
        let mut times: [Vec<f64>; 3] = Default::default();
        for _ in 0..PAGES / TURN {
            for (site, times) in sites.iter().zip(&mut times) {
                times.extend(site.visit(TURN)?);
            }
        }
        let clients = server.cli(&["CLIENT", "LIST"]).text();
        let stats = client.recruiter("site").stats()?;
        let count =
            |id: &str| stats.jobs.iter().find(|job| job.job == id).cloned().unwrap_or_default();
        let (orders, reap) = (count("orders"), count("reap"));
        for site in &sites {
            site.check_logs()?;
        }
        // Each hash has two fields.
        let is_all = (orders.items, reap.items) == (TASKS as u64, 2 * HASHES as u64);
        if !is_all || orders.failed + reap.failed > 0 {
            return Err(format!(
                "{name}: tasks or fields are left, or slices failed: {orders:?} {reap:?}"
            )
            .into());
        }
        let percentile = |times: &mut Vec<f64>, share: f64| {
            times.sort_by(f64::total_cmp);
            times[(times.len() as f64 * share) as usize]
        };
        let p50 = times.each_mut().map(|times| percentile(times, 0.5));
        let p99 = times.each_mut().map(|times| percentile(times, 0.99));
        let of_p99 = p99[2] / p99[1];
        section.row([
            name.to_owned(),
            p50.map(number).join(", "),
            p99.map(number).join(", "),
            ratio(of_p99, Some(("aim 1.02", of_p99 <= 1.02))),
            number((orders.granted + reap.granted) as f64),
            // Without those of this program.
            (clients.lines().count().saturating_sub(2)).to_string(),
        ]);
    }
    Ok(())
}

/// A running server of pages.
struct Site {
    port: u16,
    children: Vec<Child>,
    folder: TempDir,
}

impl Site {
    fn start(
        commands: fn(u16, &Path) -> Outcome<Vec<Command>>,
        url: &str,
        enlists: bool,
    ) -> Outcome<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let folder = tempfile::tempdir()?;
        let mut site = Self { port, children: Vec::new(), folder };
        for (number, mut command) in commands(port, site.folder.path())?.into_iter().enumerate() {
            command.env("MILLPOND_ENLIST", if enlists { "yes" } else { "no" });
            command.env("MILLPOND_URL", url).stdin(Stdio::null()).stdout(Stdio::null());
            command.stderr(fs::File::create(site.folder.path().join(format!("errors-{number}")))?);
            site.children.push(command.spawn()?);
        }
        let begin = Instant::now();
        while page(&mut None, port).is_err() {
            if begin.elapsed() > Duration::from_secs(30) {
                return Err(format!("the server of pages does not start: {}", site.logs()?).into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(site)
    }

    /// What the servers have written to their standard error and to their logs.
    fn logs(&self) -> Outcome<String> {
        let mut logs = String::new();
        for entry in fs::read_dir(self.folder.path())? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("errors-") || name.ends_with(".log") {
                logs += &fs::read_to_string(&path)?;
            }
        }
        Ok(logs)
    }

    /// Refuses a site that has logged a problem: a slice that fails leaves the pages as they are.
    fn check_logs(&self) -> Outcome {
        let logs = self.logs()?;
        let is_problem = |line: &&str| {
            let line = line.to_ascii_lowercase();
            ["millpond:", "error", "warning", "failed"].iter().any(|word| line.contains(word))
        };
        match logs.lines().find(is_problem) {
            Some(line) => Err(format!("a server of pages logged: {line}").into()),
            None => Ok(()),
        }
    }

    /// The times of this many pages, in milliseconds.
    fn visit(&self, pages: usize) -> Outcome<Vec<f64>> {
        let (times, failed) = (Mutex::new(Vec::new()), Mutex::new(None));
        std::thread::scope(|scope| {
            for visitor in 0..VISITORS {
                let (times, failed) = (&times, &failed);
                scope.spawn(move || {
                    // Not all at the same moment.
                    let begin = Instant::now() + BETWEEN * visitor as u32 / VISITORS as u32;
                    let mut connection = None;
                    for number in 0..pages / VISITORS {
                        let due = begin + BETWEEN * number as u32;
                        std::thread::sleep(due.saturating_duration_since(Instant::now()));
                        let sent = Instant::now();
                        match page(&mut connection, self.port) {
                            Ok(()) => {
                                times
                                    .lock()
                                    .expect("no visitor panics")
                                    .push(sent.elapsed().as_secs_f64() * 1e3);
                            }
                            Err(error) => {
                                *failed.lock().expect("no visitor panics") =
                                    Some(error.to_string());
                            }
                        }
                    }
                });
            }
        });
        match failed.into_inner().expect("no visitor panics") {
            Some(error) => Err(error.into()),
            None => Ok(times.into_inner().expect("no visitor panics")),
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It ends its own children, which a kill would leave.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }
}

/// Asks for a page and checks that it is whole, and nothing else.
fn page(connection: &mut Option<BufReader<TcpStream>>, port: u16) -> Outcome {
    let mut stream = match connection.take() {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_secs(10)))?;
            BufReader::new(stream)
        }
    };
    stream.get_mut().write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let (mut length, mut is_chunked, mut closes, mut line) = (None, false, false, String::new());
    stream.read_line(&mut line)?;
    if !line.starts_with("HTTP/1.1 200") {
        return Err(format!("a page failed: {line}").into());
    }
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let header = line.trim_end().to_ascii_lowercase();
        match header.split_once(": ") {
            Some(("content-length", value)) => length = Some(value.parse::<usize>()?),
            Some(("transfer-encoding", "chunked")) => is_chunked = true,
            Some(("connection", "close")) => closes = true,
            _ if header.is_empty() => break,
            _ => {}
        }
    }
    let mut body = Vec::new();
    match length {
        Some(length) => {
            body.resize(length, 0);
            stream.read_exact(&mut body)?;
        }
        None if is_chunked => loop {
            line.clear();
            stream.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim_end(), 16)?;
            let begin = body.len();
            body.resize(begin + length, 0);
            stream.read_exact(&mut body[begin..])?;
            stream.read_exact(&mut [0; 2])?;
            if length == 0 {
                break;
            }
        },
        None => drop(stream.read_to_end(&mut body)?),
    }
    if body != BODY.repeat(100).into_bytes() {
        return Err("a page has something else in it".into());
    }
    *connection = (!closes).then_some(stream);
    Ok(())
}

fn folder(path: &str) -> String {
    format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))
}

fn variable(name: &str) -> Outcome<String> {
    std::env::var(name).map_err(|_| format!("{name} is not set; make bench sets it").into())
}

fn python(server: &[&str], port: u16, application: &str) -> Outcome<Command> {
    let mut python = Command::new(variable("MILLPOND_BENCH_PYTHON")?);
    python.arg("-m").args(server).current_dir(folder("python"));
    match server[0] {
        "gunicorn" => python.arg("--bind").arg(format!("127.0.0.1:{port}")),
        _ => python
            .args(["--log-level", "warning", "--no-access-log", "--port"])
            .arg(port.to_string()),
    };
    python.arg(format!("pages:{application}"));
    Ok(python)
}

/// nginx, and php-fpm on a socket beside it.
fn php_fpm(port: u16, folder_of_site: &Path) -> Outcome<Vec<Command>> {
    let path = |name: &str| folder_of_site.join(name).display().to_string();
    let pool = format!(
        "[global]\nerror_log = {}\ndaemonize = no\n[www]\nuser = root\nlisten = {}\nlisten.mode = 0666\n\
         pm = static\npm.max_children = 4\nclear_env = no\n",
        path("fpm.log"),
        path("fpm.sock")
    );
    fs::write(path("fpm.conf"), pool)?;
    let site = format!(
        "daemon off;\nuser root;\nworker_processes 1;\npid {};\nerror_log {};\nevents {{}}\n\
         http {{ access_log off; client_body_temp_path {0}.body; proxy_temp_path {0}.proxy; fastcgi_temp_path {0}.fcgi; \
         uwsgi_temp_path {0}.uwsgi; scgi_temp_path {0}.scgi; keepalive_requests 100000; \
         server {{ listen 127.0.0.1:{port}; location / {{ fastcgi_pass unix:{}; \
         fastcgi_param SCRIPT_FILENAME {}; fastcgi_param REQUEST_METHOD $request_method; }} }} }}\n",
        path("nginx.pid"),
        path("nginx.log"),
        path("fpm.sock"),
        folder("php/page.php")
    );
    fs::write(path("nginx.conf"), site)?;
    let binary = fs::read_dir("/usr/sbin")?.filter_map(Result::ok).map(|entry| entry.path());
    let mut binaries = binary.filter(|path| path.to_string_lossy().contains("/php-fpm"));
    let mut fpm = Command::new(binaries.next().ok_or("php-fpm is not installed")?);
    fpm.args(["--nodaemonize", "--allow-to-run-as-root", "--fpm-config"]).arg(path("fpm.conf"));
    // As the package's page says for a php-fpm that root starts.
    let package = folder("../../ffi/php");
    let mut header = Command::new(variable("MILLPOND_BENCH_PHP")?);
    let printed = header.arg(format!("{package}/bin/millpond-ffi-header")).output()?;
    fs::write(path("millpond.h"), printed.stdout)?;
    for setting in [
        "ffi.enable=preload".to_owned(),
        format!("ffi.preload={}", path("millpond.h")),
        "opcache.enable=1".to_owned(),
        format!("opcache.preload={package}/preload.php"),
        "opcache.preload_user=root".to_owned(),
    ] {
        fpm.arg("-d").arg(setting);
    }
    let mut nginx = Command::new("nginx");
    nginx.arg("-e").arg(path("nginx.log")).arg("-c").arg(path("nginx.conf"));
    Ok(vec![fpm, nginx])
}

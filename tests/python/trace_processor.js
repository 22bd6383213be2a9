// Perfetto's trace processor, as its viewer has it: standard input and output are the stream of requests and answers
// that its worker takes and gives. The argument is the folder that the viewer is served from.
"use strict";

const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = process.argv[2];
// Node would show the line where it happened: 150 kB.
process.on("uncaughtException", (error) => {
  fs.writeSync(2, `${error.name}: ${error.message}\n`);
  process.exitCode = 1;
});
const port = {
  onmessage: null,
  postMessage: (answer) => fs.writeSync(1, answer),
};
// What a worker of a browser has around it, and no more: the code looks whether it is in one.
const worker = vm.createContext({
  WorkerGlobalScope: class {},
  TextDecoder, TextEncoder, URL, crypto, performance, setTimeout,
  console: { log: console.error, warn: console.error, error: console.error },
  location: { href: "http://localhost/" },
  XMLHttpRequest: class {
    open(method, url) {
      this.name = path.basename(String(url));
    }
    send() {
      this.response = fs.readFileSync(path.join(folder, this.name));
    }
  },
});
worker.self = worker;
vm.runInContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"), worker);
worker.onmessage({ data: port });
const bytesOf = vm.runInContext("(bytes) => new Uint8Array(bytes)", worker);
setImmediate(() => port.onmessage({ data: bytesOf(fs.readFileSync(0)) }));  // once it has initialised itself

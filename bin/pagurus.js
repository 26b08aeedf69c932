#!/usr/bin/env node
/*
 * The launcher. Plain ES5, so that any node can parse it and say what is wrong.
 * Node 24 or newer: passes the command to the resident host (thin.js), or loads the command line (start.js). An older one: runs the same command on the Node 24 that
 * the checkout brought along as a dev dependency; where there is none, one sentence and exit code 2.
 */
"use strict";

var fs = require("fs");
var path = require("path");

var NEEDED = 24;

function major(version) {
  var match = /^v?(\d+)\./.exec(version);
  return match ? Number(match[1]) : 0;
}

/** The file of a node that runs and is new enough: the nearest node_modules/node, from the package upwards. */
function findNode(from) {
  var spawnSync = require("child_process").spawnSync;
  var name = process.platform === "win32" ? "node.exe" : "node";
  for (var folder = from; ; folder = path.dirname(folder)) {
    var file = path.join(folder, "node_modules", "node", "bin", name);
    if (fs.existsSync(file)) {
      var answer = spawnSync(file, ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
      if (answer.status === 0 && major(answer.stdout) >= NEEDED) return file;
    }
    if (path.dirname(folder) === folder) return undefined;
  }
}

function refuse(why) {
  var found = "this is " + process.version + " (" + process.execPath + ")" + why;
  var remedy = "install it from https://nodejs.org, or in a checkout run `npm ci`, which brings its own";
  process.stderr.write("pagurus: needs Node.js " + NEEDED + " or newer and " + found + "; " + remedy + ".\n");
  process.exit(2);
}

/** Stands in for the child: same terminal, same signals, same end. */
function become(file, args) {
  // Replacing the process is exact and free; nodes before 22.15 cannot.
  if (typeof process.execve === "function") {
    process.removeAllListeners("warning");
    process.on("warning", function () {});
    try {
      process.execve(file, [file].concat(args), process.env);
    } catch (error) {
      // Not on this platform: go on with a child.
      void error;
    }
  }
  // The channel carries no messages: when this process is killed the child notices that it closed (start.js).
  var child = require("child_process").spawn(file, args, { stdio: ["inherit", "inherit", "inherit", "ipc"] });
  var onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  var signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  signals.forEach(function (signal) {
    process.on(signal, function () {
      // A terminal sends Ctrl-C to the child as well; forwarding it would count as a second one.
      if (signal === "SIGINT" && onTerminal) return;
      child.kill(signal);
    });
  });
  child.on("error", function (error) {
    refuse(", and the one at " + file + " cannot be started (" + error.code + ")");
  });
  child.on("exit", function (code, signal) {
    if (signal === null) process.exit(code);
    signals.forEach(function (name) {
      process.removeAllListeners(name);
    });
    process.kill(process.pid, signal);
  });
}

if (major(process.version) >= NEEDED) {
  require("./thin.js").forward(function () {
    require("./start.js");
  });
} else {
  var node = findNode(path.dirname(__dirname));
  if (node === undefined) refuse(", and no newer one was found beside the package");
  else become(node, process.execArgv.concat(process.argv.slice(1)));
}

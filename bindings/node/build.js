#!/usr/bin/env node
'use strict'

// Builds the native part, and puts it beside this file. Needs Rust, and nothing of Node's.

const { execFileSync } = require('node:child_process')
const { copyFileSync, renameSync } = require('node:fs')
const path = require('node:path')

const cargo = (...args) => execFileSync('cargo', args, {
  cwd: __dirname, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8', maxBuffer: 64 << 20
})

cargo('build', '--release', '--locked')
const { target_directory: target } = JSON.parse(
  cargo('metadata', '--format-version', '1', '--no-deps', '--offline'))
const prefix = process.platform === 'win32' ? '' : 'lib'
const extension = { darwin: 'dylib', win32: 'dll' }[process.platform] ?? 'so'
const built = path.join(target, 'release', `${prefix}huon_node.${extension}`)

// A program that has the old one loaded keeps it.
const place = path.join(__dirname, 'huon.node')
copyFileSync(built, `${place}.new`)
renameSync(`${place}.new`, place)

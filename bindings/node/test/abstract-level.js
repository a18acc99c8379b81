'use strict'

// abstract-level's own tests, for which it wants tape: `node test/abstract-level.js`.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

const test = require('tape')
const suite = require('abstract-level/test')
const { HuonLevel } = require('../lib/abstract-level')

// Some hundred files are opened and closed: where that costs no flush, if there is such a place.
const place = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir()
const folder = fs.mkdtempSync(path.join(place, 'huon-level-'))
process.on('exit', () => fs.rmSync(folder, { recursive: true }))

let count = 0
suite({
  test,
  factory (options) {
    return new HuonLevel(path.join(folder, `${count++}.huon`), options)
  }
})

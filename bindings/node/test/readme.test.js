'use strict'

// The examples of the README run, and say what they say that they do.

const assert = require('node:assert/strict')
const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const test = require('node:test')

const { file } = require('./support')

const root = path.join(__dirname, '..')
const text = fs.readFileSync(path.join(root, 'README.md'), 'utf8')
const examples = [...text.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code)

/** What comments say that is printed: `console.log(..) // this`, or `.. // this; and more`. */
const expected = code =>
  [...code.matchAll(/console\.log\(.*\/\/ ([^;\n]+)/g)].map(([, said]) => said)

for (const [at, code] of examples.entries()) {
  test(`example ${at + 1}`, t => {
    const folder = path.dirname(file(t))
    const modules = path.join(folder, 'node_modules')
    fs.mkdirSync(modules)
    fs.symlinkSync(root, path.join(modules, 'huon'), 'dir')
    fs.writeFileSync(path.join(folder, 'example.mjs'), code)
    const said = execFileSync(process.execPath, ['example.mjs'],
      { cwd: folder, encoding: 'utf8', timeout: 60_000 }).split('\n')
    for (const line of expected(code)) assert.ok(said.includes(line), `${line}\n${said.join('\n')}`)
    assert.ok(said.length > 1, 'it says something')
  })
}
test('there are examples', () => assert.ok(examples.length >= 4))

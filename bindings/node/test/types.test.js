'use strict'

// What index.d.ts names is there, and what is there it names.

const assert = require('node:assert/strict')
const fs = require('node:fs')
const path = require('node:path')
const test = require('node:test')

const huon = require('..')

const lib = path.join(__dirname, '..', 'lib')
const text = ['index', 'care', 'snapshots']
  .map(name => fs.readFileSync(path.join(lib, `${name}.d.ts`), 'utf8')).join('\n')

/** What is promised outside of a transaction. */
const CHANGES = text.match(/^type Changes =\n(.*?)\n\n/ms)[1].match(/\w+/g)

/** The members of an interface, a class or both, and of those that it extends. */
function members (name) {
  const head = new RegExp(`^(?:export )?(?:interface|class) ${name}\\b([^{]*)\\{\n(.*?)^\\}`, 'gms')
  const parts = [...text.matchAll(head)]
  assert.ok(parts.length > 0, name)
  const [of, body] = [1, 2].map(at => parts.map(part => part[at]).join('\n'))
  const own = [...body.matchAll(/^ {2}(?:readonly )?(\w+)(?: \(|\??: |<)/gm)].map(([, is]) => is)
  const [extended, promised] = of.split('Promised')
  const bases =
    /\b((?:Multi|Lsm)?(?:Reader|Writer)|Records|Transaction|Care|Snapshots)\b/g
  const outer = [...extended.matchAll(bases)].flatMap(([, is]) => [...members(is)])
  const without = [...(promised ?? '').matchAll(/'(\w+)'/g)].map(([, is]) => is)
  const changes = promised === undefined ? [] : CHANGES.filter(is => !without.includes(is))
  return new Set([...own, ...outer, ...changes].filter(is => is !== 'constructor'))
}

/** The public names of an object, which its classes give it. */
function names (object) {
  const all = new Set()
  for (let at = object; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) all.add(name)
  }
  all.delete('constructor')
  return all
}

/** What objects have for each other. */
const INNER = new Set([
  'source', 'named', 'table', 'keys', 'values', 'seat', 'isNewest', 'isMulti', 'perform', 'make',
  'of', 'env', 'isSync', 'isOfWork', 'writing', 'ambient', 'enqueue', 'enqueueAll', 'changeOfPut',
  'changeOfRemove', 'sequenceOf', 'undo', 'open', 'checkOpen', 'askFor', 'askQuietly', 'queue'
])

function compare (object, name) {
  const there = names(object)
  const named = members(name)
  for (const is of named) assert.ok(there.has(is), `${name} has no ${is}`)
  for (const is of there) assert.ok(named.has(is) || INNER.has(is), `${name} does not name ${is}`)
}

test('all that is named is there, and named', async t => {
  const env = huon.openInMemory()
  const [table, tags, events] = [env.table('t'), env.multimap('m'), env.lsmTable('l')]
  await Promise.all([table.create(), tags.create()])
  compare(env, 'Environment')
  compare(table, 'Table')
  compare(tags, 'Multimap')
  compare(events, 'LsmTable')
  const compactor = env.startCompactor()
  compare(compactor, 'Compactor')
  compare(table.range(), 'Lazy')
  const read = env.read()
  compare(read, 'ReadTransaction')
  compare(read.table(table), 'Reader')
  compare(read.multimap(tags), 'MultiReader')
  compare(read.lsmTable(events), 'LsmReader')
  await env.transaction(txn => {
    compare(txn, 'WriteTransaction')
    compare(txn.table(table), 'Writer')
    compare(txn.multimap(tags), 'MultiWriter')
    compare(txn.lsmTable(events), 'LsmWriter')
    const savepoint = txn.savepoint()
    compare(savepoint, 'Savepoint')
    savepoint.release()
  })
  const ticket = await env.transaction(txn => txn.commitTicket())
  compare(ticket, 'Ticket')
  read.end()
  await env.close()
  for (const name of Object.keys(huon)) {
    assert.match(text, new RegExp(`^export (class|function) ${name}\\b`, 'm'))
  }
})

test('all codes of errors are named', () => {
  const source = fs.readFileSync(path.join(__dirname, '..', 'src', 'failure.rs'), 'utf8')
  for (const [, code] of source.matchAll(/(?:=> |code: )"(\w+)"/g)) {
    assert.ok(text.includes(`'${code}'`), code)
  }
})

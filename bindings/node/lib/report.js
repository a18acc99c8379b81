'use strict'

/** What another thread reports. */
const report = async text => camel(JSON.parse(await text))

/** The names of a report as JavaScript writes them. */
function camel (item) {
  if (Array.isArray(item)) return item.map(camel)
  if (item === null || typeof item !== 'object') return item
  const named = ([name, value]) =>
    [name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase()), camel(value)]
  return Object.fromEntries(Object.entries(item).map(named))
}

module.exports = { report, camel }

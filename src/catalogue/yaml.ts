/** YAML 1.2 (core schema) that knows the position of each node: https://yaml.org/spec/1.2.2/. */
import { Result } from "effect"
import { constructFromEvents, EVENT_ID, type Event, getScalarValue, parseEvents, YAMLException } from "js-yaml"
import type { Path } from "./references.ts"

export interface Yaml {
  readonly value: unknown
  /** The line of a node, or of its nearest ancestor that exists; counted from 1. */
  readonly lineOf: (path: Path) => number
}

export interface YamlFault {
  readonly line: number
  readonly message: string
}

/** The maximum number of nodes that aliases may expand to: a few anchors that name each other grow to billions. */
const maxAliased = 100_000

/** Reads a text of one document; an empty one is null. */
export const parseYaml = (text: string): Result.Result<Yaml, YamlFault> => parse(text, 0)

/**
 * YAML wants closing brackets to be indented more than what they belong to; people, and most parsers, do not. A bracket
 * that is the only fault is indented: it is in a flow collection, where spaces mean nothing.
 */
const parse = (text: string, moved: number): Result.Result<Yaml, YamlFault> => {
  const lines = lineIndex(text)
  const fault = (offset: number, message: string) => Result.fail({ line: lines(offset), message })
  try {
    const events = parseEvents(text, {})
    const second = events.findIndex(({ type }, at) => at > 0 && type === EVENT_ID.DOCUMENT)
    if (second > 0) return fault(startOf(events[second + 1]), "The file has several documents")
    const alias = firstBadAlias(text, events)
    if (alias !== undefined) return fault(alias.anchorStart, `Alias *${nameOf(text, alias)} ${alias.reason}`)
    const [value = null] = constructFromEvents(events, { source: text })
    let root: Place | undefined
    return Result.succeed({
      value,
      lineOf: (path) => {
        root ??= placesOf(text, events)
        const place = placeAt(root, path)
        return place === undefined ? 1 : lines(place.offset)
      },
    })
  } catch (cause) {
    if (!(cause instanceof YAMLException)) throw cause
    const { position = 0 } = cause.mark ?? {}
    const isAtMargin = cause.reason === "deficient indentation" && /^[\]}]/.test(text.slice(position, position + 1))
    if (!isAtMargin || moved === mostMoved) return fault(position, cause.reason)
    return parse(`${text.slice(0, position)}${" ".repeat(farIn)}${text.slice(position)}`, moved + 1)
  }
}

/** Brackets that are indented; each costs another reading. */
const mostMoved = 200
/** The maximum indentation: more than people ever use. */
const farIn = 100

const lineIndex = (text: string) => {
  let starts: Array<number> | undefined
  return (offset: number): number => {
    starts ??= Array.from(text.matchAll(/\r\n?|\n/g), ({ index, 0: end }) => index + end.length)
    let low = 0
    let high = starts.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle + 1
      else high = middle
    }
    return low + 1
  }
}

interface Anchored {
  readonly anchorStart: number
  readonly anchorEnd: number
}

const nameOf = (text: string, { anchorStart, anchorEnd }: Anchored): string => text.slice(anchorStart, anchorEnd)

/** An alias that would make the value endless or very large. */
const firstBadAlias = (
  text: string,
  events: ReadonlyArray<Event>,
): (Anchored & { readonly reason: string }) | undefined => {
  if (!events.some(({ type }) => type === EVENT_ID.ALIAS)) return undefined
  // Nodes under each anchor, with those that aliases add; undefined while the anchor's own node is open.
  const sizes = new Map<string, number | undefined>()
  const open: Array<{ readonly anchor: string | undefined; size: number }> = []
  let aliased = 0
  const add = (size: number) => {
    const parent = open.at(-1)
    if (parent !== undefined) parent.size += size
  }
  for (const event of events) {
    const anchor = "anchorStart" in event && event.anchorStart >= 0 ? nameOf(text, event) : undefined
    switch (event.type) {
      case EVENT_ID.DOCUMENT:
      case EVENT_ID.SEQUENCE:
      case EVENT_ID.MAPPING:
        if (anchor !== undefined) sizes.set(anchor, undefined)
        open.push({ anchor, size: 1 })
        break
      case EVENT_ID.SCALAR:
        if (anchor !== undefined) sizes.set(anchor, 1)
        add(1)
        break
      case EVENT_ID.ALIAS: {
        const size = anchor === undefined ? 0 : sizes.get(anchor)
        if (size === undefined && anchor !== undefined && sizes.has(anchor))
          return { ...event, reason: "contains itself" }
        aliased += size ?? 0
        if (aliased > maxAliased) return { ...event, reason: `repeats more than ${maxAliased} nodes` }
        add(size ?? 0)
        break
      }
      case EVENT_ID.POP: {
        const closed = open.pop()
        if (closed === undefined) break
        if (closed.anchor !== undefined) sizes.set(closed.anchor, closed.size)
        add(closed.size)
      }
    }
  }
  return undefined
}

/** A value with its position. */
interface Place {
  readonly offset: number
  /** The members of a list or a map; empty for anything else. */
  readonly members: ReadonlyMap<string | number, Place>
}

const noMembers: Place["members"] = new Map()

/** The positions of all values. */
const placesOf = (text: string, events: ReadonlyArray<Event>): Place => {
  let at = 1
  let last = 0
  const next = () => {
    const event = events[at++]
    // A value that is left out has the position of its key.
    last = Math.max(last, startOf(event))
    return event
  }
  const read = (): Place => {
    const event = next()
    const offset = last
    const isMapping = event?.type === EVENT_ID.MAPPING
    if (!isMapping && event?.type !== EVENT_ID.SEQUENCE) return { offset, members: noMembers }
    const members = new Map<string | number, Place>()
    for (let index = 0; events[at] !== undefined && events[at]?.type !== EVENT_ID.POP; index++) {
      const key = isMapping ? next() : undefined
      members.set(key?.type === EVENT_ID.SCALAR ? getScalarValue(text, key) : index, read())
    }
    at++
    return { offset, members }
  }
  return read()
}

/** The value at a path, or its nearest ancestor below the root. */
const placeAt = (root: Place, path: Path): Place | undefined => {
  let place = root
  for (const segment of path) {
    const member = place.members.get(typeof segment === "symbol" ? String(segment) : segment)
    if (member === undefined) break
    place = member
  }
  return place === root ? undefined : place
}

const startOf = (event: Event | undefined): number => {
  switch (event?.type) {
    case EVENT_ID.SCALAR:
      return event.valueStart
    case EVENT_ID.SEQUENCE:
    case EVENT_ID.MAPPING:
      return event.start
    case EVENT_ID.ALIAS:
      return event.anchorStart
    default:
      return 0
  }
}

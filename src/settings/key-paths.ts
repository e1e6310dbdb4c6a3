/** Key paths of settings: their grammar, containment, and which of them clients consume. Pure. */
import type { Schema } from "effect"

export type Json = Schema.Json

const segmentPattern = /^[A-Za-z0-9_-]{1,64}$/
const maxSegments = 16

/** Names with a meaning in JavaScript: a client that builds objects from paths would change prototypes. */
const reservedNames = new Set(["__proto__", "constructor", "prototype"])

const isSegment = (name: string): boolean => segmentPattern.test(name) && !reservedNames.has(name)

/** Whether a text is one to sixteen names joined by points. Members of object values have the same names. */
export const isKeyPath = (text: string): boolean => {
  const names = text.split(".")
  return names.length <= maxSegments && names.every(isSegment)
}

export interface JsonObject {
  readonly [key: string]: Json
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether a path equals another one or is inside it. */
export const isWithin = (path: string, container: string): boolean =>
  path === container || path.startsWith(`${container}.`)

/** A path and all its prefixes. */
export const containersOf = (path: string): ReadonlyArray<string> =>
  path.split(".").map((_name, at, names) => names.slice(0, at + 1).join("."))

/** The leaves of a value; arrays and empty objects are leaves. */
export const leavesOf = (path: string, value: Json): ReadonlyArray<readonly [path: string, value: Json]> => {
  if (!isObject(value) || Object.keys(value).length === 0) return [[path, value]]
  return Object.entries(value).flatMap(([key, member]) => leavesOf(`${path}.${key}`, member))
}

/** Whether all members of a value have names that are allowed in paths. */
export const hasPaths = (value: Json): boolean =>
  !isObject(value) || Object.entries(value).every(([key, member]) => isSegment(key) && hasPaths(member))

/** Sections that are never delivered. */
const excludedSections = new Set(["permissions", "hooks", "mcpServers", "policy", "workspaceTrust", "memory"])

/** Paths that every client consumes, in addition to the catalogue's. */
const alwaysDeliverable = ["site.*", "mode.localProviders"]

export type Undeliverable = "excluded_section" | "unknown_leaf"

/** The reason why clients do not consume a leaf; undefined if they do. @param deliverable paths, also as `prefix.*` */
export const undeliverable = (path: string, deliverable: ReadonlyArray<string>): Undeliverable | undefined => {
  const [section = ""] = path.split(".")
  if (excludedSections.has(section)) return "excluded_section"
  const isKnown = [...alwaysDeliverable, ...deliverable].some((pattern) =>
    pattern.endsWith(".*") ? path.startsWith(pattern.slice(0, -1)) : isWithin(path, pattern),
  )
  return isKnown ? undefined : "unknown_leaf"
}

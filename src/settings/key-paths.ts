/** Key paths of settings: their grammar, which contain which, and which of them clients consume. Pure. */
import type { Schema } from "effect"

export type Json = Schema.Json

/** Segments joined by points; object values have the same names, so that each leaf has one path. */
export const keyPathPattern = /^[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}){0,15}$/

const segmentPattern = /^[A-Za-z0-9_-]{1,64}$/

export interface JsonObject {
  readonly [key: string]: Json
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether a path is another one or lies within it. */
export const isWithin = (path: string, container: string): boolean =>
  path === container || path.startsWith(`${container}.`)

/** A path, and all that contain it. */
export const containersOf = (path: string): ReadonlyArray<string> =>
  path.split(".").map((_name, at, names) => names.slice(0, at + 1).join("."))

/** What a value sets, leaf by leaf: an array is one, and so is an object without members. */
export const leavesOf = (path: string, value: Json): ReadonlyArray<readonly [path: string, value: Json]> => {
  if (!isObject(value) || Object.keys(value).length === 0) return [[path, value]]
  return Object.entries(value).flatMap(([key, member]) => leavesOf(`${path}.${key}`, member))
}

/** Whether all members of a value are named so that they have a path. */
export const hasPaths = (value: Json): boolean =>
  !isObject(value) ||
  Object.entries(value).every(([key, member]) => segmentPattern.test(key) && key !== "__proto__" && hasPaths(member))

/** Sections that no client is ever given. Source: interface.md "Effective settings preview". */
const excludedSections = new Set(["permissions", "hooks", "mcpServers", "policy", "workspaceTrust", "memory"])

/** What every client consumes, beside what the catalogue names. */
const alwaysDeliverable = ["site.*", "mode.localProviders"]

export type Undeliverable = "excluded_section" | "unknown_leaf"

/** Why a client would not consume a leaf; undefined where it would. @param deliverable paths, and `prefix.*` */
export const undeliverable = (path: string, deliverable: ReadonlyArray<string>): Undeliverable | undefined => {
  const [section = ""] = path.split(".")
  if (excludedSections.has(section)) return "excluded_section"
  const isKnown = [...alwaysDeliverable, ...deliverable].some((pattern) =>
    pattern.endsWith(".*") ? path.startsWith(pattern.slice(0, -1)) : isWithin(path, pattern),
  )
  return isKnown ? undefined : "unknown_leaf"
}

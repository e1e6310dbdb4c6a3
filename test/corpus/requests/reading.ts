/** Reads recorded requests strictly: a field that twp/1 does not have is reported, and none is ignored. */

import type { VendorRequest } from "../../../src/dialects/chat-dialect.ts"
import { type JsonObject, parseObject } from "../../../src/dialects/parse/json.ts"
import type { Block, Message } from "../../../src/protocol/block.ts"

/** A part of a request that twp/1 cannot express, e.g. a server-side tool. */
export class Beyond extends Error {}

/** Refuses every other field; fields with the default value are accepted. */
export const only = (object: JsonObject, fields: ReadonlyArray<string>, defaults: JsonObject = {}): void => {
  for (const [key, value] of Object.entries(object)) {
    if (value === null || fields.includes(key)) continue
    if (key in defaults && JSON.stringify(defaults[key]) === JSON.stringify(value)) continue
    throw new Beyond(key)
  }
}

export const json = (value: unknown): JsonObject => {
  const object = parseObject(JSON.stringify(value) ?? "")
  if (object === undefined) throw new Beyond("not an object")
  return object
}

export const list = (value: unknown): ReadonlyArray<JsonObject> => (Array.isArray(value) ? value.map(json) : [])

export const text = (value: unknown): string => {
  if (typeof value !== "string") throw new Beyond("not a text")
  return value
}

export const maybe = <A>(value: unknown, read: (value: unknown) => A): A | undefined =>
  value === undefined || value === null ? undefined : read(value)

/** `data:image/png;base64,…` or a URL. */
export const media = (
  url: string,
  mime = "image/*",
): { mime: string; data: string } | { mime: string; url: string } => {
  const [, type, data] = /^data:([^;]+);base64,(.*)$/s.exec(url) ?? []
  return type === undefined || data === undefined ? { mime, url } : { mime: type, data }
}

/** The default if a recording has no value. */
export const unsaid = { maxTokens: 4096, tools: [], stop: [], canReason: false, stream: false } as const

export const noCache = { enabled: false, skipWrite: false } as const

type Role = Message["role"]

interface Turn {
  readonly role: Role
  readonly blocks: ReadonlyArray<Block>
}

/** Consecutive messages of one role are one turn. */
export const mergeTurns = (
  turns: ReadonlyArray<Turn>,
  merged: ReadonlyArray<Role> = everyRole,
): VendorRequest["thread"] => {
  const thread: Array<{ role: Role; blocks: Array<Block> }> = []
  for (const { role, blocks } of turns) {
    const last = thread.at(-1)
    if (last?.role === role && merged.includes(role)) last.blocks.push(...blocks)
    else thread.push({ role, blocks: [...blocks] })
  }
  return JSON.parse(JSON.stringify(thread))
}

const everyRole: ReadonlyArray<Role> = ["system", "user", "assistant", "tool"]

/** Consecutive texts of a message are one, unless one of them has a cache mark. */
export const joinTexts = (blocks: ReadonlyArray<Block>): ReadonlyArray<Block> => {
  if (blocks.some((block) => block.t === "text" && block.cacheable === true)) return blocks
  const joined: Array<Block> = []
  for (const block of blocks) {
    const last = joined.at(-1)
    if (last?.t === "text" && block.t === "text") joined[joined.length - 1] = { t: "text", v: last.v + block.v }
    else joined.push(block)
  }
  return joined
}

export const parseInput = (args: string) => JSON.parse(args === "" ? "{}" : args)

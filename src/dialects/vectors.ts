/** Vectors and ranks as vendors write them. Pure. */
import { isObject, type JsonObject, objectsAt } from "./json.ts"
import type { Vector } from "./whole.ts"

const float32Bytes = 4
const base64 = /^[A-Za-z0-9+/]+={0,2}$/

const isNumbers = (value: unknown): value is ReadonlyArray<number> => {
  if (!Array.isArray(value)) return false
  for (const each of value) if (typeof each !== "number" || !Number.isFinite(each)) return false
  return true
}

/** A vector that can be used; undefined for everything else. */
export const readVector = (value: unknown): Vector | undefined => {
  if (typeof value === "string") return base64.test(value) && floatsIn(value) !== undefined ? value : undefined
  return isNumbers(value) && value.length > 0 ? value : undefined
}

/** All of a list, or undefined if one cannot be used. */
export const readVectors = (values: unknown): ReadonlyArray<Vector> | undefined => {
  if (!Array.isArray(values)) return undefined
  const vectors: Array<Vector> = []
  for (const value of values) {
    const vector = readVector(value)
    if (vector === undefined) return undefined
    vectors.push(vector)
  }
  return vectors
}

/** The numbers in base64 of little-endian float32; undefined if they are none, or not all finite. */
export const floatsIn = (text: string): Float32Array | undefined => {
  const bytes = Buffer.from(text, "base64")
  if (bytes.length === 0 || bytes.length % float32Bytes !== 0) return undefined
  const floats = new Float32Array(bytes.length / float32Bytes)
  for (let at = 0; at < floats.length; at++) {
    const value = bytes.readFloatLE(at * float32Bytes)
    if (!Number.isFinite(value)) return undefined
    floats[at] = value
  }
  return floats
}

export const dimensionsOf = (vector: Vector): number =>
  typeof vector === "string" ? Buffer.byteLength(vector, "base64") / float32Bytes : vector.length

export const toBase64 = (vector: Vector): string => {
  if (typeof vector === "string") return vector
  const bytes = Buffer.allocUnsafe(vector.length * float32Bytes)
  for (const [at, value] of vector.entries()) bytes.writeFloatLE(value, at * float32Bytes)
  return bytes.toString("base64")
}

/** Numbers that are the same float32, as short as that allows. */
export const toNumbers = (vector: Vector): ReadonlyArray<number> =>
  typeof vector === "string" ? Array.from(floatsIn(vector) ?? [], shortest) : vector

/** A float32 has at most nine digits that tell. */
const shortest = (value: number): number => {
  for (const digits of [7, 8]) {
    const shorter = Number(value.toPrecision(digits))
    if (Math.fround(shorter) === value) return shorter
  }
  return Number(value.toPrecision(9))
}

/** Entries of a list in the order of their `index`; undefined if one is missing or there twice. */
export const inOrder = (body: JsonObject, key: string, count: number): ReadonlyArray<JsonObject> | undefined => {
  const items = objectsAt(body, key)
  if (items.length !== count) return undefined
  const ordered: Array<JsonObject | undefined> = Array.from({ length: count })
  for (const [at, item] of items.entries()) {
    const index = item["index"] ?? at
    if (!isIndex(index, count) || ordered[index] !== undefined) return undefined
    ordered[index] = item
  }
  return ordered.every(isObject) ? ordered : undefined
}

export const isIndex = (value: unknown, count: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value < count

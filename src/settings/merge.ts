/**
 * Layers of settings merged into what is in force: objects merge member by member, arrays and scalars replace; a layer's
 * enforced locks hold against every layer below it. Pure. Source: interface.md "Effective settings preview".
 */
import type { SettingScope } from "../protocol/settings.ts"
import { containersOf, isObject, isWithin, type Json, type JsonObject, leavesOf } from "./key-paths.ts"

export interface Setting {
  readonly keyPath: string
  readonly value: Json
  readonly locked: boolean
  readonly enforcement: "shadow" | "enforce"
}

/** What one subject sets; several of one scope may take part (a person's teams). */
export interface Layer {
  readonly scope: SettingScope
  readonly settings: ReadonlyArray<Setting>
}

export interface Effective {
  readonly values: JsonObject
  /** Enforced locks. */
  readonly locks: ReadonlyArray<string>
  /** The layer that won, for each leaf; in lexicographic order. */
  readonly origins: Readonly<Record<string, SettingScope>>
  /** Leaves that are delivered and not yet effective. */
  readonly shadow: ReadonlyArray<string>
  readonly lockOrigins?: Readonly<Record<string, SettingScope>>
}

interface Winner {
  readonly value: Json
  readonly scope: SettingScope
  readonly setting: Setting
}

/** A place in the values: a leaf that somebody won, or what has members. */
interface Place {
  winner: Winner | undefined
  readonly members: Map<string, Place>
}

/** @param layers from the one that governs most (platform) to the one that governs least (user) */
export const merge = (layers: ReadonlyArray<Layer>): Effective => {
  const root = newPlace()
  const lockOrigins = new Map<string, SettingScope>()
  for (const { scope, settings } of layers) {
    const above = [...lockOrigins.keys()]
    // What is set at a shorter path first: what is set within it is more to the point.
    for (const setting of settings.toSorted((a, b) => (a.keyPath < b.keyPath ? -1 : 1))) {
      for (const [path, value] of leavesOf(setting.keyPath, setting.value)) {
        const isLocked = above.some((lock) => isWithin(path, lock) || isWithin(lock, path))
        if (!isLocked) put(root, path, { value, scope, setting })
      }
    }
    for (const { keyPath, locked, enforcement } of settings) {
      if (locked && enforcement === "enforce" && !lockOrigins.has(keyPath)) lockOrigins.set(keyPath, scope)
    }
  }
  const winners = winnersIn(root, "").sort(([a], [b]) => (a < b ? -1 : 1))
  const locks = [...lockOrigins.keys()].sort()
  return {
    values: valuesIn(root),
    locks,
    origins: Object.fromEntries(winners.map(([path, { scope }]) => [path, scope])),
    shadow: shadowOf(winners),
    ...(locks.length > 0 && {
      lockOrigins: Object.fromEntries([...lockOrigins].sort(([a], [b]) => (a < b ? -1 : 1))),
    }),
  }
}

const newPlace = (): Place => ({ winner: undefined, members: new Map() })

/** A leaf takes the place of whatever contained it as one value, and of whatever it contains. */
const put = (root: Place, path: string, winner: Winner): void => {
  let at = root
  for (const name of path.split(".")) {
    at.winner = undefined
    const member = at.members.get(name) ?? newPlace()
    at.members.set(name, member)
    at = member
  }
  // An empty object has nothing to say about an object's members.
  if (isObject(winner.value) && at.members.size > 0) return
  at.winner = winner
  at.members.clear()
}

const winnersIn = ({ members }: Place, prefix: string): Array<readonly [path: string, winner: Winner]> =>
  [...members].flatMap(([name, member]) => {
    const path = prefix + name
    return member.winner === undefined ? winnersIn(member, `${path}.`) : [[path, member.winner] as const]
  })

const valuesIn = ({ members }: Place): JsonObject =>
  Object.fromEntries(
    [...members].map(([name, member]) => [name, member.winner === undefined ? valuesIn(member) : member.winner.value]),
  )

/** Every leaf that is, or lies within, a key whose shadow setting still wins somewhere. */
const shadowOf = (winners: ReadonlyArray<readonly [path: string, winner: Winner]>): ReadonlyArray<string> => {
  const shadows = winners.filter(([, { setting }]) => setting.enforcement === "shadow")
  const keys = new Set(shadows.map(([, { setting }]) => setting.keyPath))
  return winners.flatMap(([path]) => (containersOf(path).some((container) => keys.has(container)) ? [path] : []))
}

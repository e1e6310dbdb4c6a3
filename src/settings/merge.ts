/**
 * Merges layers of settings: objects merge by member, arrays and scalars replace; a layer's enforced locks protect a
 * key from all lower layers. Pure.
 */
import type { SettingScope } from "../protocol/control/settings.ts"
import { containersOf, isObject, isWithin, type Json, type JsonObject, leavesOf } from "./key-paths.ts"

export interface Setting {
  readonly keyPath: string
  readonly value: Json
  readonly locked: boolean
  readonly enforcement: "shadow" | "enforce"
}

/** The settings of one subject; several of one scope may take part (a person's teams). */
export interface Layer {
  readonly scope: SettingScope
  readonly settings: ReadonlyArray<Setting>
}

export interface Effective {
  readonly values: JsonObject
  /** Enforced locks. */
  readonly locks: ReadonlyArray<string>
  /** The winning layer of each leaf, in lexicographic order. */
  readonly origins: Readonly<Record<string, SettingScope>>
  /** Leaves that are delivered but not effective yet. */
  readonly shadow: ReadonlyArray<string>
  readonly lockOrigins?: Readonly<Record<string, SettingScope>>
}

interface Winner {
  readonly value: Json
  readonly scope: SettingScope
  readonly setting: Setting
}

/** A node of the merged values: a leaf with its winner, or members. */
interface Place {
  winner: Winner | undefined
  readonly members: Map<string, Place>
}

/** @param layers from the highest (platform) to the lowest (user) */
export const merge = (layers: ReadonlyArray<Layer>): Effective => {
  const root = newPlace()
  const lockOrigins = new Map<string, SettingScope>()
  for (const { scope, settings } of layers) {
    const above = [...lockOrigins.keys()]
    // Shorter paths first: a longer path is more specific and overrides.
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

/** A leaf replaces a value that contains it, and everything that it contains. */
const put = (root: Place, path: string, winner: Winner): void => {
  let at = root
  for (const name of path.split(".")) {
    at.winner = undefined
    const member = at.members.get(name) ?? newPlace()
    at.members.set(name, member)
    at = member
  }
  // An empty object does not replace an object's members.
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

/** Every leaf that equals, or is inside, a key whose shadow setting wins. */
const shadowOf = (winners: ReadonlyArray<readonly [path: string, winner: Winner]>): ReadonlyArray<string> => {
  const shadows = winners.filter(([, { setting }]) => setting.enforcement === "shadow")
  const keys = new Set(shadows.map(([, { setting }]) => setting.keyPath))
  return winners.flatMap(([path]) => (containersOf(path).some((container) => keys.has(container)) ? [path] : []))
}

/** Statements for several organisations: the rows of one that somebody has locked keep nothing of the others back. */
import { Effect } from "effect"
import { forAll } from "../background.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/**
 * Sends items in one statement, and in halves, by organisation, if it has not got a lock. Fails with the first failure when all
 * are tried.
 * @param refused gets the items of an organisation whose rows are locked: nothing of them was done
 */
export const sendUnlocked = <Item>(
  items: ReadonlyArray<Item>,
  orgOf: (item: Item) => string,
  send: (items: ReadonlyArray<Item>) => Effect.Effect<void, StoreUnavailable>,
  refused: (items: ReadonlyArray<Item>) => void = () => {},
): Effect.Effect<void, StoreUnavailable> =>
  Effect.catch(send(items), (error) => {
    if (error.wasDone !== false) return Effect.fail(error)
    const halves = halvesOf(items, orgOf)
    if (halves !== undefined) return Effect.asVoid(forAll(halves, (half) => sendUnlocked(half, orgOf, send, refused)))
    refused(items)
    return Effect.fail(error)
  })

/** The items in two halves, by organisation; undefined if there is one. */
const halvesOf = <Item>(
  items: ReadonlyArray<Item>,
  orgOf: (item: Item) => string,
): ReadonlyArray<ReadonlyArray<Item>> | undefined => {
  const orgs = [...new Set(items.map(orgOf))]
  if (orgs.length <= 1) return undefined
  const first = new Set(orgs.slice(0, orgs.length >> 1))
  return [items.filter((item) => first.has(orgOf(item))), items.filter((item) => !first.has(orgOf(item)))]
}

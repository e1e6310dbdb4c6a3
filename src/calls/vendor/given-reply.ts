/** A call whose vendor has answered before, in a batch of its own: the reply is read as if it came now, and nothing is sent. */
import { Effect } from "effect"
import { type CallTarget, type CatalogueSnapshot, targetOfVendor } from "../../catalogue/snapshot.ts"
import type { GivenReply } from "../../identity/caller.ts"
import { VendorClient } from "../../upstream/client.ts"
import { TargetHealth } from "../../upstream/health.ts"
import type { CallServices } from "../services.ts"
import type { Conversation } from "./conversation.ts"

export const answeredBefore = (
  { health, catalogue }: Pick<CallServices, "health" | "catalogue">,
  targets: ReadonlyArray<CallTarget>,
  given: GivenReply,
): Pick<Conversation, "client" | "health" | "targets"> => {
  const target = targetOf(targets, given) ?? earlierTarget(catalogue.current(), given)
  return {
    client: clientWith(given),
    health: unaffected(health),
    targets: target === undefined ? [] : [{ ...target, isOwn: given.isOwn }],
  }
}

const targetOf = (targets: ReadonlyArray<CallTarget>, given: GivenReply): CallTarget | undefined =>
  targets.find(({ key }) => key === given.target) ??
  targets.find(({ vendor, model }) => vendor.id === given.vendor && model === given.targetModel)

/** The catalogue may list the target no more. */
const earlierTarget = (catalogue: CatalogueSnapshot, { vendor, targetModel }: GivenReply): CallTarget | undefined => {
  const entry = catalogue.vendor(vendor)
  return entry && targetOfVendor(entry, targetModel)
}

const clientWith = ({ status, body }: GivenReply): VendorClient["Service"] =>
  VendorClient.of({
    start: (_request, listener) => {
      let isLeft = false
      queueMicrotask(() => {
        if (isLeft) return
        listener.connected()
        listener.head({ status, headers: { "content-type": "application/json" } })
        listener.bytes(Buffer.from(body))
        listener.ended()
      })
      const leave = () => {
        isLeft = true
      }
      return { pause: () => {}, resume: () => {}, leave, abort: leave }
    },
  })

/** The reply says nothing of the target's state now, and its state is no reason not to read the reply. */
export const unaffected = (health: TargetHealth["Service"]): TargetHealth["Service"] =>
  TargetHealth.of({
    ...health,
    coolingDown: () => undefined,
    isSuspect: () => false,
    begin: (_target, opening) => opening,
    failed: () => Effect.void,
    coolDown: () => Effect.void,
  })

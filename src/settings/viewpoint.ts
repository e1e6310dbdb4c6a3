/** Viewpoints of the settings preview, and their layers. */
import { Effect } from "effect"
import type { SettingsPreview } from "../protocol/control/settings.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { Membership, People } from "../tenants/people.ts"
import { type LayerId, platform } from "./settings.ts"

export interface Viewpoint {
  readonly layers: ReadonlyArray<LayerId>
  readonly view: Omit<SettingsPreview["view"], "scopes" | "ignoredByClient">
}

const user = (subject: string): LayerId => ({ scope: "user", subject })
const team = (subject: string): LayerId => ({ scope: "team", subject })
const org = (subject: string): LayerId => ({ scope: "org", subject })

/** A person outside any organisation. */
export const ownViewpoint = (personId: string): Viewpoint => ({
  layers: [platform, user(personId)],
  view: { as: "self", org: null, team: null, member: personId },
})

/** A person as a member of an organisation. */
export const memberViewpoint = (personId: string, { org: { org: own }, teams }: Membership): Viewpoint => ({
  layers: [platform, org(own.id), ...teams.map(team), user(personId)],
  view: { as: "self", org: own.id, team: teams[0] ?? null, member: personId },
})

export const orgViewpoint = (orgId: string): Viewpoint => ({
  layers: [platform, org(orgId)],
  view: { as: "org", org: orgId, team: null, member: null },
})

/** `org`, `team:ID` or `member:ID`. */
export const asPattern = /^(org|team:[A-Za-z0-9_-]+|member:[A-Za-z0-9_-]+)$/

/**
 * The viewpoint of a team or member of an organisation; unknown, foreign and disabled ones are all not found.
 * @param personOf returns the account id of a declared member
 */
export const viewpointAs = (
  people: People["Service"],
  orgId: string,
  as: string,
  personOf: (email: string) => Effect.Effect<string | undefined, StoreUnavailable>,
): Effect.Effect<Viewpoint, ServiceError<"not_found"> | StoreUnavailable> =>
  Effect.gen(function* () {
    const [kind, id = ""] = as.split(":")
    if (kind === "org") return orgViewpoint(orgId)
    if (kind === "team") {
      if (!(yield* people.hasEnabledTeam(orgId, id))) return yield* noTarget
      return { layers: [platform, org(orgId), team(id)], view: { as, org: orgId, team: id, member: null } }
    }
    const member = yield* people.member(orgId, id)
    if (member === undefined) return yield* noTarget
    const { email, teams } = member
    const personId = (yield* personOf(email)) ?? id
    return {
      layers: [platform, org(orgId), ...teams.map(team), user(personId)],
      view: { as, org: orgId, team: teams[0] ?? null, member: id },
    }
  })

const noTarget = serviceError("not_found", "The organisation, team or member does not exist")

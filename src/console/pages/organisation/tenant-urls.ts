/** The routes that read and change an organisation's data: for operators, or for its own people. */
import type { Viewer } from "../../viewer.ts"

export interface TenantPlace {
  readonly org: string
  readonly apps: string
  readonly members: string
  readonly teams: string
  readonly keys: string
  readonly licences: string
  readonly budgets: string
  /** The token of the organisation's directory. */
  readonly directory: string
  /** The query that names the organisation in a list. */
  readonly query: Readonly<Record<string, string>>
  /** The same in a body that creates something. */
  readonly body: Readonly<Record<string, string>>
}

export const tenantPlace = (viewer: Viewer, org: string): TenantPlace => {
  if (viewer.kind === "person") {
    const own = {
      apps: "v1/apps",
      members: "v1/members",
      teams: "v1/teams",
      keys: "v1/keys",
      licences: "v1/org-licenses",
    }
    return { org, ...own, budgets: "v1/budgets", directory: "v1/scim", query: {}, body: {} }
  }
  const ofOrg = `v1/admin/orgs/${encodeURIComponent(org)}`
  return {
    org,
    apps: "v1/admin/apps",
    members: "v1/admin/members",
    teams: "v1/admin/teams",
    keys: "v1/admin/keys",
    licences: `${ofOrg}/licences`,
    budgets: `${ofOrg}/budgets`,
    directory: `${ofOrg}/scim`,
    query: { org },
    body: { org },
  }
}

/** The route of one entry of a list. */
export const oneOf = (list: string, id: string, action = ""): string =>
  `${list}/${encodeURIComponent(id)}${action === "" ? "" : `/${action}`}`

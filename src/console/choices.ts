/** Known values that forms offer to choose from: models, plans, and the entries of an organisation. */
import type { OrgList } from "../protocol/control/admin-directory.ts"
import type { AdminModels, AdminPlans, OwnModels } from "../protocol/control/model-list.ts"
import type { TeamRecord } from "../protocol/control/tenants.ts"
import type { RealtimeApi } from "../protocol/kinds/call-kind.ts"
import { get } from "./api.ts"
import { type Page, useLoad } from "./load.ts"
import { routeFor, type Viewer } from "./viewer.ts"

export type Choices = ReadonlyArray<readonly [value: string, name: string]>

interface NamedModel {
  readonly handle: string
  readonly kind: string
  readonly realtimeApi?: RealtimeApi
  readonly targets?: ReadonlyArray<{ readonly vendor: string }>
}

/** The vendors of models. */
export const vendorsOf = (models: ReadonlyArray<NamedModel>): ReadonlyArray<string> =>
  [...new Set(models.flatMap(({ targets = [] }) => targets.map(({ vendor }) => vendor)))].sort()

/** The models that a viewer can choose from. */
export const useModels = (viewer: Viewer): ReadonlyArray<NamedModel> =>
  useLoad(`models ${viewer.kind}`, (signal) =>
    get<AdminModels | OwnModels>(routeFor(viewer, "v1/admin/models", "v1/models"), undefined, signal),
  ).data?.data ?? []

export const modelChoices = (models: ReadonlyArray<NamedModel>): Choices =>
  models.map(({ handle, kind }) => [handle, kind === "chat" ? handle : `${handle} (${kind})`])

/** Organisations for an operator's filters: the first 200. */
export const useOrganisations = (): Choices => useNames(true)

/** The same for pages that people see too, who have no choice. */
export const useOrganisationsOf = (viewer: Viewer): Choices => useNames(viewer.kind === "operator")

const useNames = (isOperator: boolean): Choices =>
  (
    useLoad(
      `organisations ${isOperator}`,
      (signal): Promise<OrgList> =>
        isOperator
          ? get<OrgList>("v1/admin/orgs", { status: "active", limit: "200" }, signal)
          : Promise.resolve({ data: [], nextCursor: null }),
    ).data?.data ?? []
  ).map(({ id, name }) => [id, name])

/** The plans of the catalogue, after the choice of none. */
export const usePlans = (): Choices => {
  const { data } = useLoad("plans", (signal) => get<AdminPlans>("v1/admin/plans", undefined, signal))
  return [["", "none"], ...(data?.data ?? []).map(({ id }) => [id, id] as const)]
}

export type Team = typeof TeamRecord.Type

/** The first page of an organisation's teams. */
export const useTeams = (path: string, query: Readonly<Record<string, string>>) =>
  useLoad(`teams ${path} ${JSON.stringify(query)}`, (signal) =>
    get<Page<Team>>(path, { ...query, limit: "200" }, signal),
  )

/** The name of an entry, and its id if it has none. */
export const nameOf = ({ id, name }: { readonly id: string; readonly name?: string }): string => name ?? id

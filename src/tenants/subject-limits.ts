/** Limits of the subjects of a call, and the models that they allow together. Pure. */
import type { CatalogueSnapshot } from "../catalogue/snapshot.ts"
import type { SubjectScope } from "../protocol/catalogue/budget.ts"
import type { ModelList, SubjectLimits, ToolList } from "../protocol/catalogue/limits.ts"
import type { Org } from "../protocol/catalogue/tenant.ts"

/** The limits that are set at one subject. */
export interface LimitedSubject extends SubjectLimits {
  readonly scope: SubjectScope
  readonly id: string
}

/** The subject, if anything is set at it. */
export const limitedSubject = (
  scope: SubjectScope,
  id: string,
  { models, rates, tools }: SubjectLimits,
): ReadonlyArray<LimitedSubject> =>
  models === undefined && rates === undefined && tools === undefined
    ? noSubjects
    : [
        {
          scope,
          id,
          ...(models !== undefined && { models }),
          ...(rates !== undefined && { rates }),
          ...(tools !== undefined && { tools }),
        },
      ]

/** The rates of an organisation; its models are a part of it. */
export const orgRates = ({ id, rates }: Org): ReadonlyArray<LimitedSubject> =>
  rates === undefined ? noSubjects : [{ scope: "org", id, rates }]

export const noSubjects: ReadonlyArray<LimitedSubject> = []

interface NamedModel {
  readonly handle: string
  readonly tags?: ReadonlyArray<string>
}

/** Whether a pattern names a model: its handle, the start of it, or a tag. */
export const namesModel = (pattern: string, { handle, tags = [] }: NamedModel): boolean =>
  pattern === handle ||
  (pattern.endsWith("*") && handle.startsWith(pattern.slice(0, -1))) ||
  (pattern.startsWith("tag:") && tags.includes(pattern.slice(4)))

const allows = (list: ModelList | undefined, model: NamedModel): boolean =>
  list === undefined || list.includes(model.handle) || list.some((pattern) => namesModel(pattern, model))

/** An organisation, or a caller with the subjects below it. */
export interface ModelHolder {
  readonly org: { readonly models?: ModelList }
  readonly limits?: ReadonlyArray<LimitedSubject> | undefined
}

/** Whether all lists allow a model. */
export const allowsModel = ({ org, limits = noSubjects }: ModelHolder, model: NamedModel): boolean =>
  allows(org.models, model) && limits.every(({ models }) => allows(models, model))

/** The handles that a holder may use, in the order of the organisation's list, and then of the catalogue. */
export const handlesOf = (holder: ModelHolder, snapshot: CatalogueSnapshot): ReadonlyArray<string> => {
  const all = snapshot.document.models ?? []
  const listed = (holder.org.models ?? ["*"]).flatMap((pattern) => {
    const known = snapshot.model(pattern)?.model
    return known === undefined ? all.filter((each) => namesModel(pattern, each)) : [known]
  })
  return [...new Set(listed)].filter((each) => allowsModel(holder, each)).map(({ handle }) => handle)
}

/** Whether a pattern names a tool: its server, its name, or the start of that. */
const namesTool = (pattern: string, server: string, tool: string): boolean =>
  pattern === server || pattern === tool || (pattern.endsWith("*") && tool.startsWith(pattern.slice(0, -1)))

/** An organisation, or a caller with the subjects below it. */
export interface ToolHolder {
  readonly org: { readonly tools?: ToolList }
  readonly limits?: ReadonlyArray<LimitedSubject> | undefined
}

/** Whether all lists allow a tool. An organisation without a list has none. @param tool with its server, as `weather__forecast` */
export const allowsTool = ({ org, limits = noSubjects }: ToolHolder, server: string, tool: string): boolean => {
  const allows = (list: ToolList) => list.some((pattern) => namesTool(pattern, server, tool))
  return (
    org.tools !== undefined && allows(org.tools) && limits.every(({ tools }) => tools === undefined || allows(tools))
  )
}

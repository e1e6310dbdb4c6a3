/** Organisations, teams, members and applications as rows, and their changes. */
import { Schema } from "effect"
import { limitFields } from "../catalogue/limits.ts"
import { App, Org, Team, User } from "../catalogue/tenant.ts"
import { Id, Role } from "../catalogue/values.ts"
import { ErrorCode, ErrorDetail } from "../error.ts"
import { storedName } from "../values/text.ts"

export const TenantKind = Schema.Literals(["org", "team", "user", "app"])
export type TenantKind = typeof TenantKind.Type

/** `closed`: deleted; the books stay. */
export const TenantStatus = Schema.Literals(["active", "disabled", "closed"])
export type TenantStatus = typeof TenantStatus.Type

const state = {
  /** Declared by the catalogue file, which alone changes it. */
  declared: Schema.Boolean,
  status: TenantStatus,
  /** For `If-Match`. */
  revision: Schema.String,
  createdAt: Schema.String,
  changedAt: Schema.String,
}

export const OrgRecord = Schema.Struct({ ...Org.fields, ...state }).annotate({ identifier: "OrgRecord" })
export const TeamRecord = Schema.Struct({ ...Team.fields, ...state }).annotate({ identifier: "TeamRecord" })
export const MemberRecord = Schema.Struct({
  ...User.fields,
  ...state,
  /** True until the person accepts the invitation: they have no rights before. Absent for members. */
  invited: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "MemberRecord" })
export const AppRecord = Schema.Struct({ ...App.fields, ...state }).annotate({ identifier: "AppRecord" })

/** `mailed`: whether an invitation is on its way; nothing is mailed where mail is not configured. */
export const InvitedMember = Schema.Struct({ ...MemberRecord.fields, mailed: Schema.Boolean }).annotate({
  identifier: "InvitedMember",
})

/** The cursor of the next page; null on the last one. */
export const nextCursor = Schema.NullOr(Schema.String)

export const TeamList = Schema.Struct({ data: Schema.Array(TeamRecord), nextCursor }).annotate({
  identifier: "TeamList",
})
export const MemberList = Schema.Struct({ data: Schema.Array(MemberRecord), nextCursor }).annotate({
  identifier: "MemberList",
})
export const AppList = Schema.Struct({ data: Schema.Array(AppRecord), nextCursor }).annotate({ identifier: "AppList" })

/** Generated if absent. */
const id = Schema.optionalKey(Id)

const { id: _org, ...orgFields } = Org.fields
const { id: _team, disabled: _teamDisabled, ...teamFields } = Team.fields
const { id: _user, ...memberFields } = User.fields
const { id: _app, disabled: _appDisabled, ...appFields } = App.fields

export const OrgCreate = Schema.Struct({ id, ...orgFields }).annotate({ identifier: "OrgCreate" })
export const TeamCreate = Schema.Struct({ id, ...teamFields }).annotate({ identifier: "TeamCreate" })
export const MemberCreate = Schema.Struct({ id, ...memberFields }).annotate({ identifier: "MemberCreate" })
export const AppCreate = Schema.Struct({ id, ...appFields }).annotate({ identifier: "AppCreate" })

/** A member that is null is removed. RFC 7396. */
export const removable = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
/** A disabled tenant is refused everything, and keeps its data. */
const status = Schema.optionalKey(Schema.Literals(["active", "disabled"]))
const { timeZone, plan, policies, capabilities, hostedTools, aliases, sso, replyCache, keeps } = Org.fields
const { models, rates, tools } = limitFields
/** Null removes a list, so that what is allowed above holds; an empty one allows nothing. */
const limits = { models: removable(models.schema), rates: removable(rates.schema), tools: removable(tools.schema) }

/** The currency of an organisation cannot change: its books are in it. */
export const OrgUpdate = Schema.Struct({
  name: Schema.optionalKey(Org.fields.name),
  ...limits,
  plan: removable(plan.schema),
  timeZone: removable(timeZone.schema),
  policies: removable(policies.schema),
  capabilities: removable(capabilities.schema),
  hostedTools: removable(hostedTools.schema),
  aliases: removable(aliases.schema),
  sso: removable(sso.schema),
  replyCache: removable(replyCache.schema),
  keeps: removable(keeps.schema),
  status,
}).annotate({ identifier: "OrgUpdate" })
export const TeamUpdate = Schema.Struct({
  name: removable(Team.fields.name.schema),
  members: Schema.optionalKey(Team.fields.members),
  ...limits,
  status,
}).annotate({ identifier: "TeamUpdate" })
export const MemberUpdate = Schema.Struct({ role: Schema.optionalKey(Role), ...limits, status }).annotate({
  identifier: "MemberUpdate",
})
export const AppUpdate = Schema.Struct({
  name: removable(App.fields.name.schema),
  quota: removable(App.fields.quota.schema),
  ...limits,
  endUsers: removable(App.fields.endUsers.schema),
  tags: removable(App.fields.tags.schema),
  requiredTags: removable(App.fields.requiredTags.schema),
  requireSignature: removable(App.fields.requireSignature.schema),
  ipAllow: removable(App.fields.ipAllow.schema),
  licenceRequired: removable(App.fields.licenceRequired.schema),
  status,
}).annotate({ identifier: "AppUpdate" })

/** The same for the organisation's own people, who choose neither the organisation nor the id. */
const { org: _teamOrg, id: _teamId, ...ownTeamFields } = TeamCreate.fields
const { org: _memberOrg, id: _memberId, ...ownMemberFields } = MemberCreate.fields
const { org: _appOrg, id: _appId, ...ownAppFields } = AppCreate.fields
export const OwnTeamCreate = Schema.Struct(ownTeamFields).annotate({ identifier: "OwnTeamCreate" })
export const OwnMemberCreate = Schema.Struct(ownMemberFields).annotate({ identifier: "OwnMemberCreate" })
export const OwnAppCreate = Schema.Struct(ownAppFields).annotate({ identifier: "OwnAppCreate" })

const target = {
  id: Id,
  revision: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^\d{1,18}$/, { expected: "a revision such as 7" })),
  ),
}
const creation = <K extends TenantKind, S extends Schema.Constraint>(kind: K, value: S) =>
  Schema.Struct({ op: Schema.Literal("create"), kind: Schema.Literal(kind), value })
const update = <K extends TenantKind, S extends Schema.Constraint>(kind: K, value: S) =>
  Schema.Struct({ op: Schema.Literal("update"), kind: Schema.Literal(kind), ...target, value })
export const BatchItem = Schema.Union([
  creation("org", OrgCreate),
  creation("team", TeamCreate),
  creation("user", MemberCreate),
  creation("app", AppCreate),
  update("org", OrgUpdate),
  update("team", TeamUpdate),
  update("user", MemberUpdate),
  update("app", AppUpdate),
  Schema.Struct({ op: Schema.Literal("delete"), kind: TenantKind, ...target }),
])
export type BatchItem = typeof BatchItem.Type

export const batchSize = [Schema.isMinLength(1), Schema.isMaxLength(1000)] as const

/** At most 1,000 changes, in their order; each is made or refused on its own. */
export const TenantBatch = Schema.Struct({ items: Schema.Array(BatchItem).check(...batchSize) }).annotate({
  identifier: "TenantBatch",
})

/** One answer for each item, in their order. */
export const TenantBatchReply = Schema.Struct({
  data: Schema.Array(
    Schema.Union([
      Schema.Struct({ status: Schema.Literal(200), id: Schema.String, revision: Schema.String }),
      Schema.Struct({
        status: Schema.Int,
        error: Schema.Struct({ code: ErrorCode, message: Schema.String, detail: Schema.optionalKey(ErrorDetail) }),
      }),
    ]),
  ),
}).annotate({ identifier: "TenantBatchReply" })
export type TenantBatchReply = typeof TenantBatchReply.Type

/** The header that identifies a batch that may be sent again. */
export const BatchKey = storedName(128)

/** The HTTP API as one value; OpenAPI and clients are derived from it. */
import { HttpApi, OpenApi } from "effect/http-api"
import { Activity } from "./api/activity.ts"
import { Admin } from "./api/admin.ts"
import { AdminActivity } from "./api/admin-activity.ts"
import { AdminBatches } from "./api/admin-batches.ts"
import { AdminDirectory } from "./api/admin-directory.ts"
import { AdminDrafts } from "./api/admin-drafts.ts"
import { AdminExports } from "./api/admin-exports.ts"
import { AdminFiles } from "./api/admin-files.ts"
import { AdminJobs } from "./api/admin-jobs.ts"
import { AdminPolicies } from "./api/admin-policies.ts"
import { AdminReplyCache } from "./api/admin-reply-cache.ts"
import { AdminResponses } from "./api/admin-responses.ts"
import { AdminTenants } from "./api/admin-tenants.ts"
import { AdminToolServers } from "./api/admin-tool-servers.ts"
import { AdminVendors } from "./api/admin-vendors.ts"
import { Applications } from "./api/applications.ts"
import { Browser } from "./api/browser.ts"
import { BudgetRoutes } from "./api/budgets.ts"
import { Device } from "./api/device.ts"
import { LicenceRoutes } from "./api/licences.ts"
import { Login } from "./api/login.ts"
import { Organisation } from "./api/organisation.ts"
import { PolicyRoutes } from "./api/policies.ts"
import { Runtime } from "./api/runtime.ts"
import { AdminScim, ScimRoutes } from "./api/scim.ts"
import { SettingRoutes } from "./api/settings.ts"
import { Sso } from "./api/sso.ts"
import { StatementRoutes } from "./api/statements.ts"
import { Tokens } from "./api/tokens.ts"
import { AdminToolAccounts, ToolAccountRoutes } from "./api/tool-accounts.ts"
import { AdminWebhooks, WebhookRoutes } from "./api/webhooks.ts"
import { completeOpenApi } from "./openapi.ts"
import { version } from "./version.ts"

export class Api extends HttpApi.make("weir")
  .add(Runtime)
  .add(Applications)
  .add(Login)
  .add(Sso)
  .add(Device)
  .add(Tokens)
  .add(ToolAccountRoutes)
  .add(SettingRoutes)
  .add(LicenceRoutes)
  .add(StatementRoutes)
  .add(BudgetRoutes)
  .add(PolicyRoutes)
  .add(WebhookRoutes)
  .add(Organisation)
  .add(ScimRoutes)
  .add(Admin)
  .add(AdminDirectory)
  .add(AdminTenants)
  .add(AdminVendors)
  .add(AdminJobs)
  .add(AdminWebhooks)
  .add(AdminExports)
  .add(AdminReplyCache)
  .add(AdminResponses)
  .add(AdminFiles)
  .add(AdminBatches)
  .add(AdminPolicies)
  .add(AdminToolServers)
  .add(AdminDrafts)
  .add(AdminScim)
  .add(AdminToolAccounts)
  .add(Activity)
  .add(AdminActivity)
  .add(Browser)
  .annotateMerge(
    OpenApi.annotations({
      title: "Weir",
      version,
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
      servers: [{ url: "/", description: "This gateway" }],
      transform: completeOpenApi,
    }),
  ) {}

/** The routes of the authorization server. */
import { Layer } from "effect"
import { oauthClientRoutes } from "./client-routes.ts"
import { oauthPersonRoutes } from "./person-routes.ts"

export const oauthRoutes = Layer.merge(oauthClientRoutes, oauthPersonRoutes)

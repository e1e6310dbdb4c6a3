/** The viewer, and the routes that the viewer may use. */
import { createContext } from "preact"
import { useContext } from "preact/hooks"

export type Viewer =
  | { readonly kind: "operator"; readonly environment: string; readonly version: string }
  | {
      readonly kind: "person"
      readonly environment: string
      readonly version: string
      readonly email: string
      readonly org: string
      readonly orgName: string
      readonly role: string
    }

export const ViewerContext = createContext<Viewer | undefined>(undefined)

export const useViewer = (): Viewer => {
  const viewer = useContext(ViewerContext)
  if (viewer === undefined) throw new Error("The page is shown to nobody")
  return viewer
}

/** Whether the viewer may change the organisation's entries. */
export const mayManage = (viewer: Viewer): boolean => viewer.kind === "operator" || viewer.role !== "member"

/** The route of operators, or the organisation's own. */
export const routeFor = (viewer: Viewer, admin: string, own: string): string =>
  viewer.kind === "operator" ? admin : own

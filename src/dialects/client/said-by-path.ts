/** Fields that the path of a cloud says instead of the body: Azure's deployment, Vertex's model and method. */
export interface SaidByPath {
  readonly model?: string
  readonly stream?: boolean
}

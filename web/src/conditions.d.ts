/** Made by build.mjs from docs/conditions.md. */
declare module "kollect:conditions" {
  const conditions: {
    /** reason, where, what it means, what to do; in the words and the Markdown of the page. */
    reasons: [string, string, string, string][];
    /** What `True` means, by type of condition. */
    types: Record<string, string>;
  };
  export default conditions;
}

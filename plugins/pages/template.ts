/** Fills the `{{name}}` of a template. The values are HTML. */
export const fillTemplate = (template: string, values: Record<string, string>) =>
  template.replace(/\{\{([\w.-]+)\}\}/g, (_, name: string) => values[name] ?? '');

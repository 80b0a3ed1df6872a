/** Members of new records by the plural of their resource, where its rules refuse what the schema suggests. */
export const samples: Record<string, Record<string, unknown>> = {};

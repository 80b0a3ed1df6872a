import type { Preset } from './preset.ts';

/** GitHub: "Validating webhook deliveries" and "Webhook events and payloads". Most events name no time. */
export const github: Preset = {
  scheme: 'sha256',
  header: 'x-hub-signature-256',
  id: 'header:x-github-delivery',
  type: 'header:x-github-event',
  customer: ['marketplace_purchase.account.id', 'sponsorship.sponsor.id'],
  time: 'effective_date',
};

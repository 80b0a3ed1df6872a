import { github } from './github.ts';
import { lemonsqueezy } from './lemonsqueezy.ts';
import { paddle } from './paddle.ts';
import type { Preset } from './preset.ts';
import { razorpay } from './razorpay.ts';
import { shopify } from './shopify.ts';
import { standard } from './standard.ts';
import { stripe } from './stripe.ts';

/** The providers that need no more than a secret. */
export const presets = {
  stripe,
  paddle,
  lemonsqueezy,
  razorpay,
  shopify,
  github,
  standard,
} satisfies Record<string, Preset>;
export type PresetName = keyof typeof presets;

export const isPreset = (name: string): name is PresetName => Object.hasOwn(presets, name);

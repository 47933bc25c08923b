import { MULTI_FACTOR, SINGLE_FACTOR } from '@gatehouse/tokens/acr';
import type { Acr } from '@gatehouse/verify/sign-in';
import type { SecondFactorSource } from './second-factor.ts';
import type { SignInMethod } from './sign-in-method.ts';

/** The acr of the strongest sign-in that an account is set up for here: what other providers say is not known before. */
export type StrongestFactor = (userId: string) => Promise<Acr>;

export function createStrongestFactor(options: {
  methods: readonly Pick<SignInMethod, 'acr' | 'isSetUp'>[];
  sources: readonly Pick<SecondFactorSource, 'of'>[];
}): StrongestFactor {
  return async (userId) => {
    for (const { acr, isSetUp } of options.methods) {
      if (acr !== undefined && (await isSetUp(userId))) return acr;
    }
    const factors = await Promise.all(options.sources.map((source) => source.of(userId)));
    return factors.flat().length === 0 ? SINGLE_FACTOR : MULTI_FACTOR;
  };
}

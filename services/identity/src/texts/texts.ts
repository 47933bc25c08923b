import { type Translate, t as translate } from '@gatehouse/web/language';
import type german from './de.json';

/** A text of the pages and mails, in English, that every catalogue has. */
export type Text = keyof typeof german;

/** Says a text in the language of the request. */
export const t: Translate<Text> = translate;

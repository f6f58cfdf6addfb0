/** Applies the chosen theme before anything is painted. A classic script: modules run later. */
import { applyTheme, readTheme } from './layout/theme-choice.ts';

applyTheme(readTheme());

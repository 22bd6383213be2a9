// Amounts as people write them, and as the budget prints them. A GB is 1e9 bytes everywhere.
#pragma once

#include <string>
#include <string_view>

namespace stoker {

// "7e9", "7B", "125M", "1.5T", "64k": how many. Throws std::invalid_argument naming `option`, the text and what is
// allowed where it is no number, not finite, or outside of 1 to 1e15.
double ParseCount(std::string_view option, const std::string& text);

// "24GB" (1e9 each), "24GiB" (2^30 each), "500MB", "1000": bytes. Throws likewise outside of 0 to 1e18.
double ParseBytes(std::string_view option, const std::string& text);

// "18.00 GB", "9.6 MB", "36.9 kB", "0 B".
std::string AmountWords(double bytes);

// "7e9", "125e6", "197": without a unit, short.
std::string ShortCount(double count);

}  // namespace stoker

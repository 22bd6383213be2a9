#include "bench/budget/budget_report.h"

#include <fmt/format.h>

#include <cmath>

#include "bench/budget/quantity.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;
constexpr double kExactBelow = 0x1p53;  // whole numbers that a double holds

std::string Line(const std::string& name, const std::string& amount, const std::string& words) {
  return words.empty() ? fmt::format("  {:<20}{:>12}\n", name, amount)
                       : fmt::format("  {:<20}{:>12}  {}\n", name, amount, words);
}

std::string TermLines(const std::vector<Term>& terms) {
  std::string text;
  for (const Term& term : terms) {
    text += Line(term.name, AmountWords(term.bytes), (term.estimate ? "about, " : "") + term.formula);
  }
  return text;
}

std::string LimitLine(const Limit& limit) {
  if (!limit.allowed_bytes) return Line(limit.name, AmountWords(limit.needed_bytes), "no limit is known");
  std::string line = Line(
      limit.name, AmountWords(limit.needed_bytes),
      fmt::format(
          "of {}  {}", AmountWords(*limit.allowed_bytes),
          limit.fits() ? "fits" : "DOES NOT FIT, short by " + AmountWords(limit.needed_bytes - *limit.allowed_bytes)));
  if (!limit.fits()) line += fmt::format("    remedy: {}\n", limit.remedy);
  return line;
}

std::string FormatLoader(const LoaderBudget& budget) {
  std::string text = "the loader, before it takes any of it (a GB is 1e9 bytes)\n" + TermLines(budget.terms);
  text += "in all\n" + Line("host memory", AmountWords(budget.host_bytes()), "");
  text += Line("of it page-locked", AmountWords(budget.SumAt(Place::kLocked)), "");
  text += Line("GPU memory", AmountWords(budget.SumAt(Place::kVram)), "");
  text += "has to fit\n";
  for (const Limit& limit : budget.limits) text += LimitLine(limit);
  return text;
}

std::string FormatModel(const ModelBudget& budget) {
  const double total = SumOf(budget.terms);
  std::string text =
      "the model on one GPU: an ESTIMATE, good for a decision and not for the last GB (a GB is 1e9 bytes)\n";
  for (const Term& term : budget.terms) text += Line(term.name, AmountWords(term.bytes), term.formula);
  text += Line("in all", AmountWords(total), "");
  if (!budget.vram_bytes) return text + "  --vram 24GB tells whether it fits a GPU of that size\n";
  const double spare = *budget.vram_bytes - total;
  text += Line(budget.vram_source, AmountWords(*budget.vram_bytes),
               spare >= 0 ? "fits, " + AmountWords(spare) + " to spare" : "short by " + AmountWords(-spare));
  if (budget.advice.empty()) return text;
  text += "what to try, in this order (each alone)\n";
  int number = 0;
  for (const Advice& advice : budget.advice) {
    text += fmt::format("  {}. {}", ++number, advice.what);
    if (advice.total_bytes) {
      const double over = *advice.total_bytes - *budget.vram_bytes;
      text += fmt::format(": {}, {}", AmountWords(*advice.total_bytes),
                          over <= 0 ? "fits" : "still short by " + AmountWords(over));
    }
    text += '\n';
  }
  return text;
}

json BytesJson(double bytes) {
  return bytes < kExactBelow ? json(static_cast<int64_t>(std::llround(bytes))) : json(bytes);
}
json BytesJson(std::optional<double> bytes) { return bytes ? BytesJson(*bytes) : json(); }

const char* NameOf(Place place) {
  switch (place) {
    case Place::kHost:
      return "host";
    case Place::kLocked:
      return "page-locked";
    case Place::kVram:
      break;
  }
  return "vram";
}

json TermsJson(const std::vector<Term>& terms) {
  json array = json::array();
  for (const Term& term : terms) {
    array.push_back({{"name", term.name},
                     {"bytes", BytesJson(term.bytes)},
                     {"formula", term.formula},
                     {"place", NameOf(term.place)},
                     {"estimate", term.estimate}});
  }
  return array;
}

json LoaderJson(const LoaderBudget& budget) {
  json limits = json::array();
  for (const Limit& limit : budget.limits) {
    limits.push_back({{"name", limit.name},
                      {"needed_bytes", BytesJson(limit.needed_bytes)},
                      {"allowed_bytes", BytesJson(limit.allowed_bytes)},
                      {"fits", limit.fits()},
                      {"remedy", limit.fits() ? json() : json(limit.remedy)}});
  }
  return {{"terms", TermsJson(budget.terms)},
          {"budget_bytes", BytesJson(budget.budget_bytes())},
          {"host_bytes", BytesJson(budget.host_bytes())},
          {"page_locked_bytes", BytesJson(budget.SumAt(Place::kLocked))},
          {"vram_bytes", BytesJson(budget.SumAt(Place::kVram))},
          {"limits", limits},
          {"fits", budget.fits()}};
}

json ModelJson(const ModelBudget& budget) {
  const double total = SumOf(budget.terms);
  json advice = json::array();
  for (const Advice& each : budget.advice) {
    const json fits = each.total_bytes ? json(*each.total_bytes <= *budget.vram_bytes) : json();
    advice.push_back({{"what", each.what}, {"total_bytes", BytesJson(each.total_bytes)}, {"fits", fits}});
  }
  return {{"estimate", true},
          {"terms", TermsJson(budget.terms)},
          {"total_bytes", BytesJson(total)},
          {"vram_bytes", BytesJson(budget.vram_bytes)},
          {"short_bytes", budget.vram_bytes ? BytesJson(std::fmax(total - *budget.vram_bytes, 0)) : json()},
          {"advice", advice}};
}

}  // namespace

std::string FormatBudget(const BudgetReport& report) {
  std::string text;
  if (report.loader) text += FormatLoader(*report.loader);
  if (report.loader && report.model) text += '\n';
  if (report.model) text += FormatModel(*report.model);
  return text;
}

json ToJson(const BudgetReport& report) {
  return {{"schema_version", kSchemaVersion},
          {"loader", report.loader ? LoaderJson(*report.loader) : json()},
          {"model", report.model ? ModelJson(*report.model) : json()}};
}

}  // namespace stoker

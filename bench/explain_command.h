// `stoker explain`: from a symptom to what to look at and what to do.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace stoker {

inline constexpr const char* kExplainHelp =
    "From what you see to what to do.\n"
    "\n"
    "Examples:\n"
    "  stoker explain                    the whole table\n"
    "  stoker explain starved            one row of it\n"
    "  stoker explain report.jsonl       the rows that this report shows: a file of --report-file (its last line) or "
    "of\n"
    "                                    stoker run --json\n"
    "\n"
    "Exit codes: 0 done, 1 the report shows none of them, 2 no such row or file.";

struct ExplainOptions {
  std::string what;  // a row's name or a file; empty: all
};

void AddExplainOptions(CLI::App& command, ExplainOptions& options);

// Prints to stdout. Throws std::invalid_argument where `what` is neither a row nor a report.
int ExplainCommand(const ExplainOptions& options);

}  // namespace stoker

// Commit messages from templates (spec: sinks 7.4).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "sinks/layout.h"

namespace kollect::sinks::git {

struct CommitTemplates {
  std::string subject;  ///< "" = the default
  std::string body;
  std::vector<std::string> trailers;
};

/// Values of the placeholders.
struct CommitContext {
  std::string cluster;
  std::string ns;
  std::string name;
  std::int64_t generation = 0;
  std::size_t item_count = 0;
  std::string checksum;  ///< a "sha256:" prefix is cut
  base::WallTime exported_at{};
  std::string sink;
  std::string path;
};

/// Context of all exports of a run: values of the only export, or of several: names joined, rows
/// added up, checksum over their checksums.
CommitContext commit_context(const std::vector<Export>& exports,
                             const std::vector<LaidOut>& laid_out, std::string_view sink);

/// Subject, body and trailers as paragraphs; the trailers are one paragraph (K-31). No newline at
/// the end. Error (terminal): NUL in a text, nothing left for a subject.
base::Result<std::string> commit_message(const CommitTemplates& templates,
                                         const CommitContext& context);

}  // namespace kollect::sinks::git

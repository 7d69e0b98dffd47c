#include "pipeline/run/result.h"

#include <algorithm>

namespace kollect::pipeline {

void FailureList::keep(ExtractionFailure failure) {
  const auto place = std::ranges::upper_bound(first_, failure, std::less<>());
  first_.insert(place, std::move(failure));
  if (first_.size() > kKept) first_.pop_back();
}

void FailureList::add(ExtractionFailure failure) {
  ++count_;
  keep(std::move(failure));
}

void FailureList::add_all(const FailureList& other) {
  count_ += other.count_;
  for (const ExtractionFailure& failure : other.first_) keep(failure);
}

std::string_view to_string(TargetResult::Status status) {
  switch (status) {
    case TargetResult::Status::kOk:
      return "ok";
    case TargetResult::Status::kPartial:
      return "partial";
    case TargetResult::Status::kSkipped:
      return "skipped";
    case TargetResult::Status::kSuspended:
      return "suspended";
  }
  return "";
}

}  // namespace kollect::pipeline

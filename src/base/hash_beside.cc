#include "base/hash_beside.h"

namespace kollect::base {

Sha256Beside::~Sha256Beside() {
  end();
}

std::string& Sha256Beside::room() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return filled_ - hashed_ < kRooms; });
  text(filled_).clear();
  return text(filled_);
}

void Sha256Beside::hand_over() {
  {
    const std::lock_guard lock(mutex_);
    ++filled_;
  }
  if (filled_ == kRooms) worker_ = std::thread([this] { work(); });
  changed_.notify_all();
}

void Sha256Beside::update(std::string_view bytes) {
  if (open_ == nullptr) open_ = &room();
  *open_ += bytes;
  if (open_->size() < kCopied) return;
  hand_over();
  open_ = nullptr;
}

void Sha256Beside::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return over_ || hashed_ < filled_; });
    if (hashed_ == filled_) return;
    const std::string& next = text(hashed_);
    lock.unlock();
    hash_.update(next);
    lock.lock();
    ++hashed_;
    changed_.notify_all();
  }
}

void Sha256Beside::end() {
  if (!worker_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

std::string Sha256Beside::finish_hex() {
  if (open_ != nullptr) hand_over();
  end();
  for (; hashed_ < filled_; ++hashed_) hash_.update(text(hashed_));
  return hash_.finish_hex();
}

}  // namespace kollect::base

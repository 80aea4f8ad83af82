// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/child_process.hpp"
#include "harness/scratch_directory.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace tenure::test
{

/** The needs of sanitizers say nothing about the library. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool memory_is_measured = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool memory_is_measured = false;
#else
inline constexpr bool memory_is_measured = true;
#endif
#else
inline constexpr bool memory_is_measured = true;
#endif

/** A process of bounded memory that holds a lock on a server that may lie (programs/bounded_worker.cpp). */
class BoundedWorker
{
public:
    BoundedWorker(std::string const& url, std::chrono::milliseconds ttl, std::chrono::milliseconds wait);

    /** The next line that begins with this word, without it; what comes before is passed over. Empty if none comes in
     * time. */
    [[nodiscard]] std::optional<std::string>
    says(std::string const& word, std::chrono::milliseconds limit = std::chrono::seconds{20});
    /** Passes over all that it has said so far. */
    void skip() { read_ = output().size(); }

    /** The most memory that it ever had, in kB. */
    [[nodiscard]] std::size_t peak() const;

    /** Asks it to end, and tells how it did. */
    [[nodiscard]] std::optional<ExitStatus> end();

    [[nodiscard]] std::string output() const;

private:
    ScratchDirectory directory_;
    ChildProcess process_;
    /// how much of its output was looked at
    std::size_t read_ = 0;
};

} // namespace tenure::test

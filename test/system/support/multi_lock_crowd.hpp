// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/auditor.hpp"
#include "harness/child_process.hpp"
#include "harness/scratch_directory.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tenure::test
{

/** Fifty processes that acquire two to five of eight keys together, over and over, on one store. One of them is killed
 * each second and replaced. An auditor is told which process holds which key when. */
class MultiLockCrowd
{
public:
    static constexpr std::size_t processes = 50;
    static constexpr std::uint32_t keys = 8;
    static constexpr std::chrono::milliseconds ttl{1500};
    static constexpr std::chrono::milliseconds longest_hold{20};
    static constexpr std::chrono::seconds period{15};

    explicit MultiLockCrowd(std::string url);

    /** Runs it for that time, and waits until all processes have ended. */
    void run(std::chrono::seconds time);

    [[nodiscard]] static std::string key(std::uint32_t number) { return "crowd:" + std::to_string(number); }

    /** Checks what the auditor was told, that every process got a set in each period while it lived, and that no key is
     * held one ttl after the end. Reports the figures.
     *  @param held  whether the store has the key */
    void check(std::function<bool(std::string const&)> const& held);

private:
    /** One process, from its start to its end. */
    struct Life {
        pid_t pid;
        std::int64_t begin;
        std::int64_t end;
    };
    struct Worker {
        ChildProcess process;
        std::int64_t begin;
    };

    [[nodiscard]] Worker start(std::int64_t end) const;
    /** The longest time that a living process went without a new set. */
    [[nodiscard]] std::chrono::nanoseconds longest_gap() const;

    std::string url_;
    ScratchDirectory directory_;
    std::string audit_ = directory_.file("audit");
    Auditor auditor_ = Auditor::create(audit_, keys);
    std::vector<Life> lives_;
    std::size_t kills_ = 0;
};

} // namespace tenure::test

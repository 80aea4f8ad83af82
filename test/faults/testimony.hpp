// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "share_work.hpp"

#include "harness/immovable.hpp"

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tenure::faults
{

/** A token that fired, as its holder saw it. Instants in ns of CLOCK_BOOTTIME. */
struct Loss {
    pid_t pid = 0;
    std::uint32_t cell = 0;
    std::uint64_t fencing_token = 0;
    /// the reason's name
    std::string reason;
    std::int64_t fires_at = 0;
    std::int64_t valid_until = 0;
    std::int64_t told_at = 0;
    /// the longest time for which the holder's loop did not turn between `fires_at` and `told_at`
    std::int64_t stall = 0;
    /// the same in the two ttls before
    std::int64_t stall_before = 0;
};

/** A lease that was given back. */
struct GivenBack {
    pid_t pid = 0;
    std::uint32_t cell = 0;
    std::uint64_t fencing_token = 0;
    std::string outcome;
    std::int64_t began = 0;
    std::int64_t ended = 0;
};

/** A rule that a worker saw broken. */
struct Complaint {
    pid_t pid = 0;
    std::uint32_t cell = 0;
    std::int64_t at = 0;
    std::string rule;
    std::string text;
};

/** One acquisition of a share, with what followed. */
struct Turn {
    pid_t pid = 0;
    /// number of the worker
    unsigned worker = 0;
    std::uint32_t cell = 0;
    Part part = {};
    std::int64_t began = 0;
    /// 0: it got none
    std::int64_t granted = 0;
    std::int64_t ended = 0;
    std::uint64_t token = 0;
};

/** All that workers have said so far. */
struct Testimonies {
    std::vector<Loss> losses;
    std::vector<GivenBack> given_back;
    std::vector<Complaint> complaints;
    std::vector<Turn> turns;
    /// acquisitions that ended without a lease, by error
    std::map<std::string, std::uint64_t> failed;
    /// writes with a token that is over, by what the register answered
    std::map<std::string, std::uint64_t> late_writes;
};

/** The file into which all workers write, a line at a time, so that what was said before SIGKILL counts. */
class TestimonyFile : test::Immovable
{
public:
    /** Opens it for adding. @throws std::system_error */
    explicit TestimonyFile(std::string const& path);
    ~TestimonyFile();

    void add(Loss const& loss);
    void add(GivenBack const& given_back);
    void add(Complaint const& complaint);
    void add(Turn const& turn);
    void add_failed(std::string const& error);
    void add_late_write(std::string const& answer);

private:
    void write(std::string const& line);

    int file_;
};

[[nodiscard]] Testimonies read_testimonies(std::string const& path);

} // namespace tenure::faults

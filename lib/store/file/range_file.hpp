// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "descriptor.hpp"
#include "directory.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::file
{

/** The records of all keys with one stem, and the line of their waiters. */
class RangeFile
{
public:
    RangeFile(Descriptor file, std::string stem);

    [[nodiscard]] Descriptor const& file() const noexcept { return file_; }
    [[nodiscard]] std::string const& stem() const noexcept { return stem_; }
    [[nodiscard]] std::uint64_t inode() const noexcept { return inode_; }

    /** Reads the records of `count` slots. False: an error. */
    [[nodiscard]] bool read(std::uint32_t slot, std::uint32_t count, std::vector<RecordPair>& to) const;
    /** Replaces the older copy. The first record of a slot gets both of its copies, so that later ones need no space.
     *  @param old  the copies that the file has */
    [[nodiscard]] bool write(std::uint32_t slot, RecordPair const& old, Record record) const;

private:
    Descriptor file_;
    std::string stem_;
    std::uint64_t inode_;
};
using RangeFilePtr = std::shared_ptr<RangeFile>;

/** The range files of a directory. Keeps some of them open. */
class RangeFiles
{
public:
    explicit RangeFiles(Directory const& directory) noexcept
        : directory_(directory)
    {
    }

    /** The file of a stem; null: there is none, and all its keys are free. */
    [[nodiscard]] std::variant<RangeFilePtr, Failure> find(std::string const& stem);
    /** As above, and makes the file if it is missing. */
    [[nodiscard]] std::variant<RangeFilePtr, Failure> find_or_make(std::string const& stem, Runtime& runtime);
    /** The file was deleted: the next call opens or makes another one. */
    void forget(RangeFile const& file) { open_.erase(file.stem()); }

private:
    [[nodiscard]] int make(std::string const& name, std::string const& stem, Runtime& runtime) const;

    Directory const& directory_;
    std::map<std::string, RangeFilePtr, std::less<>> open_;
};

/** A locked area of a range file; unlocks it at its end. */
class LockedArea
{
public:
    LockedArea() noexcept = default;
    LockedArea(RangeFilePtr file, Area area) noexcept
        : file_(std::move(file))
        , area_(area)
    {
    }
    LockedArea(LockedArea&& other) noexcept
        : file_(std::move(other.file_))
        , area_(other.area_)
    {
    }
    LockedArea& operator=(LockedArea&& other) noexcept
    {
        unlock();
        file_ = std::move(other.file_);
        area_ = other.area_;
        return *this;
    }
    ~LockedArea() { unlock(); }

    /** Null after `unlock`. */
    [[nodiscard]] RangeFilePtr const& file() const noexcept { return file_; }
    void unlock() noexcept
    {
        if (auto const file = std::exchange(file_, nullptr))
            file->file().unlock(area_);
    }

private:
    RangeFilePtr file_;
    Area area_;
};

} // namespace tenure::file

-- SPDX-License-Identifier: Apache-2.0
{-# LANGUAGE BangPatterns #-}

-- | Measures GHC's software transactional memory as the benchmark asks for it: two variables, changed or read together in
-- 'atomically'. A request is a line of the input: operation, threads, live observers, operations of a round. The answer is a
-- line with begin, end, operations and preemptions of each thread, or "-" where there is no such operation.
module Main (main) where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import Data.Char (isDigit)
import Data.IORef
import Data.List (isPrefixOf)
import GHC.Clock (getMonotonicTimeNSec)
import GHC.Conc
import System.IO

-- | So many operations of one thread.
type Body = Int -> IO ()

transfer :: TVar Int -> TVar Int -> Body
transfer from to times = replicateM_ times $ atomically $ do
  taken <- readTVar from
  writeTVar from $! taken - 1
  given <- readTVar to
  writeTVar to $! given + 1

summing :: TVar Int -> TVar Int -> Body
summing from to times = go times 0 >>= void . evaluate
  where
    go 0 !total = return total
    go left !total = do
      value <- atomically $ (+) <$> readTVar from <*> readTVar to
      go (left - 1) (total + value :: Int)

prepare :: String -> IO (Maybe Body)
prepare operation = do
  from <- newTVarIO 1000
  to <- newTVarIO 1000
  return $ case operation of
    "transfer" -> Just (transfer from to)
    "snapshot" -> Just (summing from to)
    _ -> Nothing

preemptions :: IO Int
preemptions = do
  status <- readFile "/proc/thread-self/status"
  return $! sum [read (filter isDigit line) | line <- lines status, "nonvoluntary" `isPrefixOf` line]

-- | All threads begin together. The first that has done so many operations ends it for all.
runTogether :: Int -> Int -> Body -> IO [Int]
runTogether threads times body = do
  missing <- newIORef threads
  finished <- newIORef False
  let portion = max 1 (times `div` 100)
      await = do
        left <- readIORef missing
        when (left > 0) (yield >> await)
      repeatedly !done = do
        isFinished <- readIORef finished
        if isFinished || done >= times then return done else body portion >> repeatedly (done + portion)
  results <- forM [0 .. threads - 1] $ \processor -> do
    result <- newEmptyMVar
    _ <- forkOn processor $ do
      -- Before the others are met: reading it takes as long as thousands of transactions.
      before <- preemptions
      atomicModifyIORef' missing (\left -> (left - 1, ()))
      await
      begin <- getMonotonicTimeNSec
      done <- repeatedly 0
      atomicWriteIORef finished True
      end <- getMonotonicTimeNSec
      after <- preemptions
      putMVar result [fromIntegral begin, fromIntegral end, done, after - before]
    return result
  concat <$> mapM takeMVar results

main :: IO ()
main = do
  hSetBuffering stdout LineBuffering
  requests <- lines <$> getContents
  forM_ requests $ \request -> case words request of
    [operation, threads, _, times] -> do
      body <- prepare operation
      answer <- maybe (return "-") (fmap (unwords . map show) . runTogether (read threads) (read times)) body
      putStrLn answer
    _ -> putStrLn "-"
